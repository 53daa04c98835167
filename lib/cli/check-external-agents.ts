/** Checks of external agents (ACP): installed, and responding. An agent that would be downloaded first is not started. */
import { probeAgent } from '../agent/acp/probe.ts'
import { isFetched } from '../agent/acp/startup.ts'
import { messageOf } from '../errors.ts'
import { listExternalAgents } from '../models/external-agents.ts'
import { readSetup } from '../models/provider-config.ts'
import { emptyIfUnreadable } from './check-home.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

const ANSWER_MS = 10_000

export const agentChecks = async ({ home }: CheckContext, version: string): Promise<Check[]> => {
  const checks: Check[] = []
  // In sequence: each agent is a large program.
  for (const { id, name, command, env } of emptyIfUnreadable(() =>
    listExternalAgents(readSetup(home)),
  )) {
    const about = `agent ${id}`
    if (command === null)
      checks.push(
        warn(about, `${name} was not found`, 'Install it, or fix acp_command in config.yaml.'),
      )
    else if (isFetched(command))
      checks.push(ok(about, `${name}, downloaded on first use: ${command.join(' ')}`))
    else
      try {
        const answer = await probeAgent({
          name,
          command,
          env: { ...home.childEnv(), ...env },
          version,
          startMs: ANSWER_MS,
        })
        checks.push(ok(about, `${answer}, ${command[0]}`))
      } catch (error) {
        checks.push(
          warn(about, messageOf(error), `Run it in a terminal to see why: ${command.join(' ')}`),
        )
      }
  }
  return checks
}
