/** Takes the responses to what the page requested before its code was there (`first-request.ts`). */
import type { FirstRequests } from './first-request.ts'

/** `fetch` that answers the first GET of each URL in `responses` with that response. Later ones want the state of their time, so they are sent. */
export const withFirstResponses =
  (responses: FirstRequests, send: typeof fetch): typeof fetch =>
  (url, init) => {
    if ((init?.method ?? 'GET') !== 'GET') return send(url, init)
    const first = responses.get(`${url}`)
    responses.delete(`${url}`)
    return first ?? send(url, init)
  }
