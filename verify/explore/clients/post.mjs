/** Sends a message to the service that the environment describes, or another one. */
const { SMSTWIN_BASE_URL, SMSTWIN_API_KEY, SMSTWIN_FROM } = process.env;
const described = { fetch, baseUrl: SMSTWIN_BASE_URL, apiKey: SMSTWIN_API_KEY, from: SMSTWIN_FROM };

export async function post(message, requestId, signal, service = described) {
  const { fetch, baseUrl, apiKey, from } = service;
  return fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from, message, request_id: requestId }),
    signal,
  });
}
