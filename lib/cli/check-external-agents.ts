/** Checks of external agents (ACP): installed, responding, signed in. An agent that would be downloaded first is not started. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probeAgent } from '../agent/acp/probe.ts'
import { isFetched, startTimeoutMs } from '../agent/acp/startup.ts'
import { messageOf } from '../errors.ts'
import { listExternalAgents } from '../models/external-agents.ts'
import { readSetup } from '../models/provider-config.ts'
import { emptyIfUnreadable } from './check-home.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

/** Each is a large program: more at once would be too slow to answer in time. */
const AT_ONCE = 2

type Found = ReturnType<typeof listExternalAgents>[number]

const checkAgent = async (
  { id, name, command, settings }: Found,
  { home }: CheckContext,
  version: string,
): Promise<Check> => {
  const about = `agent ${id}`
  if (command === null)
    return warn(
      'agent_missing',
      about,
      `${name} was not found`,
      'Install it, or fix acp_command in config.yaml.',
    )
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
    return signedOut
      ? warn(
          'agent_signed_out',
          about,
          `${title}: ${signedOut.failure.message}`,
          `${signedOut.failure.hint ?? ''}`,
        )
      : ok(about, `${title} answers and opens a session, ${command[0]}`)
  } catch (error) {
    return warn(
      'agent_fails',
      about,
      messageOf(error),
      `Run it in a terminal to see why: ${command.join(' ')}`,
    )
  } finally {
    rmSync(empty, { recursive: true, force: true })
  }
}

export const agentChecks = async (context: CheckContext, version: string): Promise<Check[]> => {
  const agents = emptyIfUnreadable(() => listExternalAgents(readSetup(context.home)))
  const checks: Check[] = []
  const waiting = [...agents.entries()]
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      checks[next[0]] = await checkAgent(next[1], context, version)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return checks
}
