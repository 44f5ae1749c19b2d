// A stub as a user would write it with Fastify. It is copied into the folder of the installed package.
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';

const { queued, read } = JSON.parse(readFileSync(new URL('./replies.json', import.meta.url)));
const app = Fastify();
app.post('/api/v1/sms/send/', (_request, reply) => reply.code(202).send(queued));
app.get('/api/v1/sms/:message_id/', (_request, reply) => reply.send(read));
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
