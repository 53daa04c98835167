/** `agent-webui config`: shows the settings of config.yaml that wait to be confirmed, accepts them, or restores those in force. */
import { systemClock } from '../base/clock.ts'
import { forbidden, invalid } from '../errors.ts'
import { signing } from '../people/signing-key.ts'
import { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { answerChanges, shownChanges } from '../commands/guards/setting-changes.ts'
import { isStartedByAgent } from '../commands/own-processes/started-by-agent.ts'
import { Homes } from '../profiles/homes.ts'
import { KnownSecrets } from '../profiles/known-secrets.ts'
import { watchSecrets } from '../base/redact/redact.ts'
import type { CommandContext } from './run.ts'

export type ConfigArguments = { does: 'show' | 'accept' | 'restore'; profile: string | null }

export const changeConfig = async (
  { does, profile }: ConfigArguments,
  { config, terminal }: CommandContext,
): Promise<number> => {
  if (does !== 'show' && isStartedByAgent(config))
    throw forbidden('The agent cannot confirm settings. Run the command in your own terminal.')
  const accepted = new AcceptedSettings(config.stateDir, signing(config.stateDir))
  const homes = new Homes(config, systemClock, accepted)
  const secrets = new KnownSecrets(() => homes.list())
  watchSecrets(() => secrets.list())
  const home = homes.open(profile ?? homes.active())
  const problem = home.configFile.problem()
  if (problem) throw invalid(`config.yaml: ${problem}`)
  const pending = shownChanges(home, accepted)
  if (pending === null) {
    terminal.out(`Nothing waits to be confirmed in ${home.configFile.path}.\n`)
  } else {
    if (does !== 'show')
      answerChanges(home, accepted, { changeId: pending.change_id, accepts: does === 'accept' })
    const end = {
      show: 'The earlier values are in force. agent-webui config accept, or config restore.',
      accept: 'Accepted.',
      restore: 'The earlier values are in the file again.',
    }[does]
    const lines = pending.changes.map(
      ({ key, accepted: before, now }) =>
        `${key}\n  in force: ${before ?? 'nothing'}\n  in the file: ${now ?? 'nothing'}`,
    )
    terminal.out(`${pending.file}\n\n${lines.join('\n')}\n\n${end}\n`)
  }
  return 0
}
