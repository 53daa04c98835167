/** `agent-webui password`: sets the password of the service, or with --off removes it; works while the service runs. */
import { mkdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { openSigningKey } from '../auth/signing-key.ts'
import { createPasswordHasher } from '../auth/password.ts'
import { openPasswordRecord } from '../auth/password-record.ts'
import { normalizePassword } from '../auth/normalize-password.ts'
import type { Config } from '../config.ts'
import { forbidden, invalid } from '../errors.ts'
import { migrateDefaultModel } from '../models/default-model.ts'
import { isDescendantOf } from '../own-processes/own-processes.ts'
import { createHomes } from '../profiles/homes.ts'
import { createSettings } from '../settings.ts'
import { runningPid } from '../store/instance-lock.ts'
import type { PasswordArguments } from './arguments.ts'
import type { Terminal } from './terminal.ts'

/** A file of another user would lock the service out of its own password. */
const checkOwner = (dir: string): void => {
  const { uid } = statSync(dir)
  if (process.getuid && uid !== process.getuid())
    throw invalid(
      `${dir} belongs to another user (id ${uid}), and this is ${userInfo().username}. Run the command as that user.`,
    )
}

const checkPerson = ({ env, stateDir }: Config): void => {
  const service = runningPid(stateDir)
  if (env.AGENT_SESSION_KEY || (service !== undefined && isDescendantOf(service)))
    throw forbidden(
      'The agent cannot change the password. Run the command in a terminal of your own.',
    )
}

const readPassword = async (terminal: Terminal): Promise<string> => {
  if (!terminal.interactive) return (await terminal.readAll()).replace(/\r?\n$/, '')
  const first = await terminal.askHidden('New password: ')
  const second = first === null ? null : await terminal.askHidden('Repeat it: ')
  if (second === null) throw invalid('Nothing was changed.')
  if (first !== second) throw invalid('The two passwords differ. Nothing was changed.')
  return second
}

export const changePassword = async (
  { off }: PasswordArguments,
  { config, terminal }: { config: Config; terminal: Terminal },
): Promise<number> => {
  const { stateDir } = config
  checkPerson(config)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  checkOwner(stateDir)
  const settings = createSettings(join(stateDir, 'settings.json'), {
    botName: config.botName,
    usableWorkspace: () => undefined,
    defaultWorkspace: () => config.userHome,
    migrateDefaultModel: model => migrateDefaultModel(createHomes(config).base, model),
  })
  const key = openSigningKey(stateDir)
  const warn = terminal.note
  const record = openPasswordRecord({ dir: stateDir, key, settings: settings.password, warn })
  if (off) {
    record.set(null)
    terminal.out('The password is removed.\n')
  } else {
    const password = normalizePassword(await readPassword(terminal))
    if (password === '') throw invalid('The password is empty. Nothing was changed.')
    record.set(await createPasswordHasher(key).hash(password))
    terminal.out('The password is set. Everyone has to sign in with it.\n')
  }
  if (config.password !== null)
    terminal.note('AGENT_WEBUI_PASSWORD is set; a service that has it uses the variable instead.')
  await terminal.drain()
  return 0
}
