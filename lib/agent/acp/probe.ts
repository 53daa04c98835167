/** Starts an agent to check that it responds, and stops it. */
import { type AgentProcess, spawnAgent } from './agent-process.ts'
import { connectAgent, type ClientServices } from './connection.ts'

export type ProbeOptions = {
  name: string
  command: readonly string[]
  env: Readonly<Record<string, string>>
  version: string
  startMs: number
}

const GRACE_MS = 1_000

const refuse = (): never => {
  throw new Error('No turn is running.')
}

/** Rejects all requests, because no session is open. */
const services: ClientServices = {
  permission: async () => ({ outcome: { outcome: 'cancelled' } }),
  read: refuse,
  write: refuse,
  terminal: refuse,
  output: refuse,
  wait: refuse,
  kill: refuse,
  release: refuse,
  form: async () => ({ action: 'cancel' }),
}

/** The agent's name and version. Throws if it doesn't respond. */
export const probeAgent = async (options: ProbeOptions): Promise<string> => {
  const { name, command, env, version, startMs } = options
  const child: AgentProcess = spawnAgent({
    command,
    cwd: env.HOME || '/',
    env,
    graceMs: GRACE_MS,
    onStderrLine: () => undefined,
  })
  try {
    const { capabilities } = await connectAgent({
      child,
      name,
      version,
      startMs,
      services,
      onUpdate: () => undefined,
      log: () => undefined,
    })
    return [name, capabilities.agentInfo?.version].filter(Boolean).join(' ')
  } finally {
    await child.stop()
  }
}
