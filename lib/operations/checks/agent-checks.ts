/** Checks of external agents (ACP): installed, responding, signed in. An agent that would be downloaded first is not started. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probeAgent } from '../../agent/acp/probe.ts'
import { isFetched, startTimeoutMs } from '../../agent/acp/startup.ts'
import { messageOf } from '../../errors.ts'
import { listExternalAgents } from '../../models/external-agents.ts'
import { readSetup } from '../../models/provider-config.ts'
import { type Check, type CheckContext, finding, ok } from './check.ts'
import { emptyIfUnreadable } from './home-checks.ts'

/** Each is a large program: more at once would be too slow to answer in time. */
const AT_ONCE = 2

type Agent = ReturnType<typeof listExternalAgents>[number]

const checkAgent = async (
  { id, name, command, settings }: Agent,
  { home, version }: CheckContext,
): Promise<Check> => {
  const about = `agent ${id}`
  if (command === null) return finding('agent_missing', about, `${name} was not found`)
  if (isFetched(command)) return ok(about, `${name}, downloaded on first use: ${command.join(' ')}`)
  const isRemote = settings.files === 'agent'
  const empty = mkdtempSync(join(tmpdir(), 'agent-check-'))
  try {
    const { title, signedOut } = await probeAgent({
      name,
      command,
      env: { ...home.childEnv(), ...settings.env },
      cwd: settings.cwd ?? (isRemote ? '/' : empty),
      isRemote,
      version,
      startMs: settings.startMs ?? startTimeoutMs(command),
    })
    if (!signedOut) return ok(about, `${title} answers and opens a session, ${command[0]}`)
    const { message, hint = '' } = signedOut.failure
    return finding('agent_signed_out', about, `${title}: ${message}`, { advice: `${hint}` })
  } catch (error) {
    const advice = `Run it in a terminal to see why: ${command.join(' ')}`
    return finding('agent_fails', about, messageOf(error), { advice })
  } finally {
    rmSync(empty, { recursive: true, force: true })
  }
}

export const agentChecks = async (context: CheckContext): Promise<Check[]> => {
  const agents = emptyIfUnreadable(() => listExternalAgents(readSetup(context.home)))
  const checks: Check[] = []
  const waiting = agents.entries()
  const work = async () => {
    for (const [at, agent] of waiting) checks[at] = await checkAgent(agent, context)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return checks
}
