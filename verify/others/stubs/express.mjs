// A stub as a user would write it with Express. It is copied into the folder of the installed package.
import { readFileSync } from 'node:fs';
import express from 'express';

const { queued, read } = JSON.parse(readFileSync(new URL('./replies.json', import.meta.url)));
const app = express();
app.use(express.json());
app.post('/api/v1/sms/send/', (_request, response) => response.status(202).json(queued));
app.get('/api/v1/sms/:message_id/', (_request, response) => response.json(read));
app.listen(Number(process.argv[2]), '127.0.0.1');
