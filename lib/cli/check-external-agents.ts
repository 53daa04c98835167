/** Agents of other programs: which are on this machine, and whether they answer. One that would be fetched is not started. */
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
  // One after the other: each of them is a large program.
  for (const { id, name, command, env } of emptyIfUnreadable(() =>
    listExternalAgents(readSetup(home)),
  )) {
    const about = `agent ${id}`
    if (command === null)
      checks.push(
        warn(about, `${name} was not found`, 'Install it, or correct acp_command in config.yaml.'),
      )
    else if (isFetched(command))
      checks.push(ok(about, `${name}, fetched when it is used first: ${command.join(' ')}`))
    else
      try {
        const said = await probeAgent({
          name,
          command,
          env: { ...home.childEnv(), ...env },
          version,
          startMs: ANSWER_MS,
        })
        checks.push(ok(about, `${said}, ${command[0]}`))
      } catch (error) {
        checks.push(warn(about, messageOf(error), `Start it in a terminal: ${command.join(' ')}`))
      }
  }
  return checks
}
