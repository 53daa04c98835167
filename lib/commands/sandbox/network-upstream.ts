/** The proxy of the person's own network (`HTTPS_PROXY`), where the internet is reached through one only. */
import { connect, type Socket } from 'node:net'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import { readProxies } from '../../base/proxy-variables.ts'

type Environment = Readonly<Record<string, string>>

const MAX_HEAD = 16_384

/** `NO_PROXY` as curl reads it: hosts with their subdomains, or `*`. */
const isExempt = (env: Environment, host: string): boolean =>
  (env.no_proxy ?? env.NO_PROXY ?? '').split(/[\s,]+/).some(entry => {
    const name = entry.toLowerCase().replace(/^\*?\./, '')
    return entry === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)))
  })

/** Null: the destination is connected to directly. Throws an Error with a sentence for a proxy of another kind. */
export const upstreamFor = (env: Environment, { host, port }: NetworkTarget): URL | null => {
  const { httpProxy, httpsProxy } = readProxies(env)
  const address = port === 80 ? httpProxy || httpsProxy : httpsProxy || httpProxy
  if (address === '' || isExempt(env, host)) return null
  const proxy = new URL(address)
  if (proxy.protocol !== 'http:')
    throw new Error('Commands in the sandbox need a proxy with an http:// address.')
  return proxy
}

/** A connection to the proxy, which `join` turns into one to the destination. */
export const dialUpstream = ({ hostname, port }: URL): Socket =>
  connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    allowHalfOpen: true,
  })

/** Asks a connected proxy for the destination; what follows its answer is left unread. */
export const joinUpstream = (
  socket: Socket,
  { username, password }: URL,
  { host, port }: NetworkTarget,
): Promise<void> => {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const sign = username
    ? `Proxy-Authorization: Basic ${Buffer.from(login).toString('base64')}\r\n`
    : ''
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${sign}\r\n`)
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0)
    const settle = (done: () => void) => {
      socket.off('readable', look).off('end', gone).off('close', gone)
      done()
    }
    const gone = () => settle(() => reject(new Error('The proxy did not answer.')))
    const look = () => {
      for (let bytes = socket.read(); bytes !== null; bytes = socket.read())
        head = Buffer.concat([head, bytes as Buffer])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return head.length > MAX_HEAD ? gone() : undefined
      const [line = ''] = head.toString('latin1').split('\r\n')
      if (!/^HTTP\/1\.\d 2\d\d\b/.test(line))
        return settle(() => reject(new Error(`The proxy answered: ${line.slice(9, 100)}`)))
      settle(() => {
        if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
        resolve()
      })
    }
    socket.on('readable', look).on('end', gone).on('close', gone)
  })
}
