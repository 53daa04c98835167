/** What `agent-webui doctor --url` asks through a reverse proxy. Public, because a proxy is set up before anyone signs in. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { isForwarded } from '../lib/http/client-address.ts'
import { forwardedProblem } from '../lib/http/proxy-hints.ts'
import { eventStream } from '../lib/http/reply.ts'

export const send = endpoint({
  summary: 'Whether a request through a reverse proxy arrives with the headers that it needs',
  public: true,
  cache: 'no-store',
  input: z.object({
    /** A body of any size, for the limit of the proxy. */
    padding: z.string().optional(),
  }),
  output: z.object({
    /** Path below which the proxy serves the page, without a trailing slash; empty at the root. */
    base_path: z.string(),
    /** Something says that it forwarded the request. */
    is_forwarded: z.boolean(),
    /** What is missing, as a sentence for the one who set up the proxy. */
    problem: z.string().nullable(),
  }),
  run: ({ req, client }) => ({
    base_path: client.prefix,
    is_forwarded: isForwarded(req),
    problem: forwardedProblem(req, client),
  }),
})

export const stream = endpoint({
  summary: 'An event stream with one event, for the same check',
  public: true,
  raw: 'text/event-stream',
  run: ({ app, signal }) => eventStream(app.proxyCheck.stream(signal)),
})
