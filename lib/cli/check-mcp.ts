/** Checks of MCP servers: the entry, the program, the sign-in, and whether something listens at the URL. Nothing is sent. */
import { connect } from 'node:net'
import { findProgram } from '../base/find-program.ts'
import { isObject } from '../base/json.ts'
import { type HttpServer, isInvalid, parseServers, type ServerConfig } from '../mcp/config.ts'
import { signInState } from '../mcp/oauth/token-source.ts'
import type { Home } from '../profiles/home.ts'
import { emptyIfUnreadable } from './check-home.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

const CONNECT_MS = 3_000

const CONNECT_PROBLEMS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNREFUSED: 'nothing listens there',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no network',
}

/** Why no connection can be made; null when one can. */
const connectProblem = ({ hostname, protocol, port }: URL): Promise<string | null> =>
  new Promise(resolve => {
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)) })
    const end = (problem: string | null) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(problem)
    }
    const timer = setTimeout(() => end('it does not answer'), CONNECT_MS)
    socket.once('connect', () => end(null))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(CONNECT_PROBLEMS[error.code ?? ''] ?? 'no connection can be made'),
    )
  })

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
  if (problem !== null)
    return warn(
      'mcp_unreachable',
      about,
      `${url.origin}: ${problem}`,
      'Start the server, or fix its url.',
    )
  if (state === 'none') return ok(about, url.origin)
  if (state === 'signed_in') return ok(about, `${url.origin}, signed in`)
  return warn(
    'mcp_signed_out',
    about,
    `${url.origin}: nobody is signed in`,
    'Sign in under Settings → MCP servers.',
  )
}

const programCheck = (
  home: Home,
  about: string,
  server: Exclude<ServerConfig, HttpServer>,
): Check =>
  findProgram(server.env.PATH ?? home.lenient.env().PATH ?? '', server.command)
    ? ok(about, server.command)
    : fail(
        'mcp_program_missing',
        about,
        `the program "${server.command}" was not found`,
        'Install it, or fix the command.',
      )

/** Such as a list of them. */
const sectionCheck = ({ home }: CheckContext): Check[] => {
  const section = home.lenient.settings().mcp_servers ?? {}
  return isObject(section)
    ? []
    : [
        fail(
          'mcp_section_invalid',
          'mcp_servers',
          'is not a mapping from names to settings, so no server is used',
          `Correct mcp_servers in ${home.config.path}.`,
        ),
      ]
}

export const mcpChecks = async (looked: CheckContext): Promise<Check[]> => {
  const { home } = looked
  const servers = await Promise.all(
    emptyIfUnreadable(() => parseServers(home.settings())).map(async server => {
      const about = `mcp ${server.name}`
      if (isInvalid(server))
        return fail(
          'mcp_entry_invalid',
          about,
          `${server.problem}`,
          'Fix its entry in mcp_servers.',
        )
      if (!server.enabled) return ok(about, 'disabled')
      if (server.kind === 'http') return httpCheck(looked, about, server)
      return programCheck(home, about, server)
    }),
  )
  return [...sectionCheck(looked), ...servers]
}
