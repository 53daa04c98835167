/** `agent-webui password`: sets or removes the server's password, or removes passkeys and codes. Works while the server is running. */
import { mkdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { openSigningKey } from '../people/signing-key.ts'
import { PasswordHasher, normalizePassword } from '../people/passwords.ts'
import { PasswordFile } from '../people/password-record.ts'
import { People } from '../people/people.ts'
import type { Config } from '../config.ts'
import { forbidden, invalid } from '../errors.ts'
import { migrateDefaultModel } from '../models/default-model.ts'
import { isStartedByAgent } from '../commands/own-processes/started-by-agent.ts'
import { Homes } from '../profiles/homes.ts'
import { SettingsStore } from '../profiles/settings.ts'
import type { CommandContext } from './run.ts'
import type { Terminal } from './terminal.ts'

/** A file owned by another user could not be read by the server. */
const checkOwner = (dir: string): void => {
  const { uid } = statSync(dir)
  if (process.getuid && uid !== process.getuid())
    throw invalid(
      `${dir} belongs to another user (id ${uid}); you are ${userInfo().username}. Run the command as that user.`,
    )
}

const checkPerson = (config: Config): void => {
  if (isStartedByAgent(config))
    throw forbidden('The agent cannot change the password. Run the command in your own terminal.')
}

const readPassword = async (terminal: Terminal): Promise<string> => {
  if (!terminal.interactive) return (await terminal.readAll()).replace(/\r?\n$/, '')
  const first = await terminal.askHidden('New password: ')
  const second = first === null ? null : await terminal.askHidden('Confirm password: ')
  if (second === null) throw invalid('Nothing was changed.')
  if (first !== second) throw invalid('Passwords don’t match. Nothing was changed.')
  return second
}

export const changePassword = async (
  /** `resetFactors`: removes passkeys and codes instead of setting a password. */
  { off, resetFactors }: { off: boolean; resetFactors: boolean },
  { config, terminal }: CommandContext,
): Promise<number> => {
  const { stateDir } = config
  checkPerson(config)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  checkOwner(stateDir)
  if (resetFactors) {
    new People(stateDir, line => terminal.note(line)).reset()
    terminal.out('Passkeys and one-time codes removed. The password alone signs in.\n')
    if (!off) return 0
  }
  const settings = new SettingsStore(join(stateDir, 'settings.json'), {
    botName: config.botName,
    usableWorkspace: () => undefined,
    defaultWorkspace: () => config.userHome,
    migrateDefaultModel: model => migrateDefaultModel(new Homes(config, systemClock).base, model),
  })
  const key = openSigningKey(stateDir)
  const warn = (line: string) => terminal.note(line)
  const record = new PasswordFile(stateDir, key, settings.password, warn)
  if (off) {
    record.set(null)
    terminal.out('Password removed.\n')
  } else {
    const password = normalizePassword(await readPassword(terminal))
    if (password === '') throw invalid('The password is empty. Nothing was changed.')
    record.set(await new PasswordHasher(key).hash(password))
    terminal.out('Password set. All browsers have to sign in again.\n')
  }
  if (config.password !== null)
    terminal.note(
      'AGENT_WEBUI_PASSWORD is set. A server started with it uses the variable instead.',
    )
  return 0
}
