/** Lets only requests of a forwarder pass: other programs of this machine, such as those of other cells, can connect as well. */
import type { ServerResponse } from 'node:http'
import { isSameSecret } from '../base/sha256.ts'
import { FORWARDER_HEADER, PERSON_HEADER } from './forwarded-headers.ts'
import type { Listener } from './http.ts'

/** For those who watch the process, and with secrets of their own. */
const OPEN = /^\/(?:health|ready|metrics)(?:\?|$)/

/** About a browser, in the words of a proxy. */
const CLAIMS = /^(?:forwarded$|x-forwarded-|x-real-|x-request-id$|x-agent-webui-)/

const ONLY_FORWARDER = 'This is reached through the forwarder only.'
const NO_PERSON = 'The forwarder does not say who you are. Set AGENT_WEBUI_AUTH_HEADER there too.'
const OTHER_PERSON =
  'The forwarder reads another header than this service. Set AGENT_WEBUI_AUTH_HEADER to the same name at both.'
const EARLIER = 'Another process is served here now.'

const refuse = (res: ServerResponse, status: number, error: string): void => {
  res.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' })
  res.end(JSON.stringify({ error, code: status === 403 ? 'forbidden' : 'not_found' }))
}

export class ForwardedOnly {
  /** Which forwarders read in the database. */
  readonly #token: string
  /** In which the forwarder found who sends the request; null: no one signs in before the cell does. */
  readonly #userHeader: string | null
  readonly #onRequest: (res: ServerResponse) => void

  constructor(token: string, userHeader: string | null, onRequest: (res: ServerResponse) => void) {
    this.#token = token
    this.#userHeader = userHeader
    this.#onRequest = onRequest
  }

  /** Around the listener of the service. */
  around(listener: Listener): Listener {
    return (req, res) => {
      const { headers } = req
      const token = headers[FORWARDER_HEADER]
      const isForwarder = typeof token === 'string' && isSameSecret(token, this.#token)
      const isOpen = OPEN.test(req.url ?? '')
      if (!isForwarder && isOpen) {
        // The service believes every address what it says about a browser, so nothing may be left of it.
        for (const name of Object.keys(headers))
          if (CLAIMS.test(name) || name === this.#userHeader) delete headers[name]
        return listener(req, res)
      }
      // A token of an earlier process at this address: the forwarder looks for the one that serves now.
      if (!isForwarder)
        return token === undefined ? refuse(res, 403, ONLY_FORWARDER) : refuse(res, 421, EARLIER)
      if (this.#userHeader !== null) {
        const person = headers[PERSON_HEADER]
        if (person === undefined) return refuse(res, 403, NO_PERSON)
        // Otherwise a client could name anyone in it.
        if (String(headers[this.#userHeader]).trim().toLowerCase() !== person)
          return refuse(res, 403, OTHER_PERSON)
      }
      if (!isOpen) this.#onRequest(res)
      listener(req, res)
    }
  }
}
