/** Checks of MCP servers: the entry, the program, the sign-in, and whether something listens at the URL. Nothing is sent. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { findProgram } from '../../base/find-program.ts'
import { isObject } from '../../base/json.ts'
import { describeNetworkError } from '../../http/network-error.ts'
import { type HttpServer, isInvalid, parseServers } from '../../mcp/config.ts'
import { signInState } from '../../mcp/oauth/token-source.ts'
import { type Check, type CheckContext, finding, ok } from './check.ts'
import { emptyIfUnreadable } from './home-checks.ts'

const CONNECT_MS = 3_000

/** Why no connection can be made; null when one can. */
const connectProblem = async ({ hostname, protocol, port }: URL): Promise<string | null> => {
  const host = hostname.replace(/^\[(.+)\]$/, '$1')
  const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)) })
  const signal = AbortSignal.timeout(CONNECT_MS)
  try {
    await once(socket, 'connect', { signal })
    return null
  } catch (error) {
    return `${describeNetworkError(signal.aborted ? signal.reason : error)}`
  } finally {
    socket.destroy()
  }
}

/** Servers on the internet may only be reachable through the proxy. */
const usesProxy = ({ env }: CheckContext['config']): boolean =>
  Object.keys(env).some(name => /^(?:https?|all)_proxy$/i.test(name))

const httpCheck = async (
  { home, config }: CheckContext,
  about: string,
  server: HttpServer,
): Promise<Check> => {
  const url = new URL(server.url)
  const state = signInState(home.dir, server)
  const problem = usesProxy(config) ? null : await connectProblem(url)
  if (problem !== null) return finding('mcp_unreachable', about, `${url.origin}: ${problem}`)
  if (state === 'none') return ok(about, url.origin)
  if (state === 'signed_in') return ok(about, `${url.origin}, signed in`)
  return finding('mcp_signed_out', about, `${url.origin}: nobody is signed in`)
}

/** The section may be a list. */
const sectionCheck = ({ home }: CheckContext): Check[] => {
  if (isObject(home.lenient.config().mcp_servers ?? {})) return []
  const message = 'is not a mapping from names to settings, so no server is used'
  const advice = `Correct mcp_servers in ${home.configFile.path}.`
  return [finding('mcp_section_invalid', 'mcp_servers', message, { advice })]
}

export const mcpChecks = async (context: CheckContext): Promise<Check[]> => {
  const { home } = context
  const servers = await Promise.all(
    emptyIfUnreadable(() => parseServers(home.config())).map(async server => {
      const about = `mcp ${server.name}`
      if (isInvalid(server)) return finding('mcp_entry_invalid', about, `${server.problem}`)
      if (!server.enabled) return ok(about, 'disabled')
      if (server.kind === 'http') return httpCheck(context, about, server)
      const path = server.env.PATH ?? home.lenient.env().PATH ?? ''
      return findProgram(path, server.command)
        ? ok(about, server.command)
        : finding('mcp_program_missing', about, `the program "${server.command}" was not found`)
    }),
  )
  return [...sectionCheck(context), ...servers]
}
