/** Starts an agent to check that it responds and that somebody is signed in to it, and stops it. */
import { AgentProcess } from './agent-process.ts'
import { connectAgent } from './connection.ts'
import { errorText, type SignedOut, toSignedOut } from './failures.ts'
import { ClientRequests } from './services.ts'
import { withTimeout } from './timeout.ts'
import { UpdateRouter } from './update-router.ts'
import { OpenedSession } from './updates.ts'

const GRACE_MS = 1_000

/** The agent's name and version, and how to sign in if nobody is. Throws if it doesn't respond or opens no session. */
export const probeAgent = async ({
  name,
  command,
  env,
  cwd,
  isRemote,
  version,
  startMs,
}: {
  name: string
  command: readonly string[]
  env: Readonly<Record<string, string>>
  /** A directory for the session that is opened: the agent may list it later. */
  cwd: string
  /** It uses its own files and terminals. */
  isRemote: boolean
  version: string
  /** For each of its answers. */
  startMs: number
}): Promise<{ title: string; signedOut: SignedOut | null }> => {
  const ignore = () => undefined
  const home = (!isRemote && env.HOME) || '/'
  const child = new AgentProcess(command, home, env, GRACE_MS, ignore)
  // It knows no session, so nothing is served.
  const refusing = new ClientRequests(name, new UpdateRouter(ignore))
  try {
    const about = { name, version, startMs, servesFiles: !isRemote }
    const connection = await connectAgent(child, about, refusing, ignore, ignore)
    const { agentInfo, agentCapabilities } = connection.capabilities
    const title = [name, agentInfo?.version].filter(Boolean).join(' ')
    const seconds = Math.round(startMs / 1_000)
    const opening = Promise.race([
      connection.request('session/new', { cwd, mcpServers: [] }),
      child.ended.then(how => Promise.reject(new Error(`${name} ${how}.`))),
    ])
    try {
      const result = OpenedSession.safeParse(
        await withTimeout(opening, startMs, `${name} opened no session within ${seconds} seconds.`),
      )
      const sessionId = result.success ? result.data.sessionId : undefined
      if (sessionId !== undefined && agentCapabilities.sessionCapabilities.close)
        await withTimeout(
          connection.request('session/close', { sessionId }),
          GRACE_MS,
          'It ends with the process.',
        ).catch(() => undefined)
      return { title, signedOut: null }
    } catch (error) {
      const signedOut = toSignedOut(error, { name, command, connection })
      if (signedOut) return { title, signedOut }
      throw new Error(`${name}: ${errorText(error)}`.replace(`${name}: ${name}`, name))
    }
  } finally {
    await child.stop()
  }
}
