/** `agent-webui backup` and `agent-webui restore`: saves the state directory and homes to one file, and puts them back. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { backupPlaces } from '../operations/backups/backup-places.ts'
import { noteFirstLocation } from '../operations/moved-home.ts'
import { type Backup, makeBackup } from '../operations/backups/backup.ts'
import { readArchive, type ReadArchive } from '../operations/backups/read-archive.ts'
import { type Restored, restoreBackup } from '../operations/backups/restore.ts'
import type { Config } from '../config.ts'
import { forbidden, invalid, missing } from '../errors.ts'
import { isStartedByAgent } from '../commands/own-processes/started-by-agent.ts'
import { Homes } from '../profiles/homes.ts'
import { readText } from '../store/read-text.ts'
import type { CommandContext } from './run.ts'

type BackupArguments = {
  file: string
  /** Empty: all profiles. */
  profiles: string[]
  withKeys: boolean
  passphraseFile: string | null
}

type RestoreArguments = {
  file: string
  /** Null: the configured places. */
  to: string | null
  mode: 'restore' | 'list' | 'check'
  withoutKeys: boolean
  passphraseFile: string | null
}

/** For a program that runs without a terminal. An argument would be visible in the process list and the shell history. */
const VARIABLE = 'AGENT_WEBUI_BACKUP_PASSPHRASE'
const MIN_CHARS = 8

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.2 MB` */
const formatBytes = (bytes: number): string => {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  const value = bytes / 1_000 ** step
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[step]}`
}

const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`

/** Programs of the agent must not export keys. */
const checkPerson = (config: Config): void => {
  if (isStartedByAgent(config))
    throw forbidden(
      'The agent cannot read or write keys in a backup. Run the command in your own terminal.',
    )
}

/** From the file, the variable, or the terminal; null when none of them has one. */
const presetPassphrase = (file: string | null, { config, cwd }: CommandContext): string | null => {
  if (file === null) return config.env[VARIABLE] ?? null
  const { text, problem } = readText(resolve(cwd, file))
  if (text === null) throw invalid(`${file}: ${problem ?? 'there is no such file'}`)
  return text.replace(/\r?\n$/, '')
}

const HOW = `Put the passphrase into a file and use --passphrase-file, or set ${VARIABLE}.`

const newPassphrase = async (file: string | null, place: CommandContext): Promise<string> => {
  const { terminal } = place
  const preset = presetPassphrase(file, place)
  if (preset === null && !terminal.interactive)
    throw invalid(`Keys are encrypted with a passphrase. ${HOW}`)
  const first = preset ?? (await terminal.askHidden('Passphrase for the keys: '))
  const second = preset ?? (first && (await terminal.askHidden('Repeat it: ')))
  if (!first || second === null) throw invalid('Nothing was saved.')
  if (first !== second) throw invalid('The passphrases don’t match. Nothing was saved.')
  if (first.length < MIN_CHARS)
    throw invalid(`The passphrase needs at least ${MIN_CHARS} characters. Nothing was saved.`)
  return first
}

const MAX_SHOWN = 10

const report = (
  { path, size, files, bytes, keyFiles, problems }: Backup,
  withKeys: boolean,
): string => {
  const lines = problems.slice(0, MAX_SHOWN).map(({ path: name, reason }) => `  ${name}: ${reason}`)
  const more = problems.length - lines.length
  return [
    `${count(files, 'file')} (${formatBytes(bytes)}) saved to ${path} (${formatBytes(size)}), and read back.`,
    ...(withKeys
      ? [
          `${count(keyFiles.length, 'file')} with keys, encrypted. Without the passphrase they are lost.`,
        ]
      : keyFiles.length > 0
        ? [
            `Keys and passwords are not in it (${count(keyFiles.length, 'file')}). To include them: --with-keys`,
          ]
        : []),
    ...(problems.length > 0 ? ['Not saved, or not for certain:', ...lines] : []),
    ...(more > 0 ? [`  and ${more} more`] : []),
    '',
  ].join('\n')
}

export const backup = async (
  { file, profiles, withKeys, passphraseFile }: BackupArguments,
  place: CommandContext,
): Promise<number> => {
  const { config, terminal, cwd } = place
  if (withKeys) checkPerson(config)
  if (!existsSync(config.stateDir) && !existsSync(config.baseHome))
    throw invalid(`There is nothing to save in ${config.baseHome}.`)
  const homes = new Homes(config, systemClock)
  const selection = profiles.length > 0 ? profiles.map(name => homes.open(name)) : homes.list()
  const passphrase = withKeys ? await newPassphrase(passphraseFile, place) : null
  // Absent where only an earlier version has run.
  noteFirstLocation(config)
  const result = await makeBackup({
    ...backupPlaces(config, selection),
    now: systemClock.now(),
    target: resolve(cwd, file),
    passphrase,
    version: await place.version(),
    addon: place.addon,
  })
  terminal.out(report(result, withKeys))
  return 0
}

const describe = ({ head, files, bytes }: ReadArchive): string =>
  [
    `Backup of ${head.created_at.slice(0, 16).replace('T', ' ')} UTC by agent-webui ${head.version}`,
    `${count(files, 'file')}, ${formatBytes(bytes)}; profiles: ${head.profiles.join(', ') || 'none'}`,
    head.keys === 'encrypted' ? 'Keys: encrypted' : 'Keys: not in it',
    '',
  ].join('\n')

const nextSteps = (
  { hasKeys, files, bytes }: Restored,
  { home, isConfigured }: { home: string; isConfigured: boolean },
): string =>
  [
    `${count(files, 'file')} (${formatBytes(bytes)}) restored to ${home}.`,
    `Start it: ${isConfigured ? 'agent-webui' : `AGENT_HOME=${home} agent-webui`}`,
    ...(hasKeys
      ? []
      : [
          'Keys and passwords were not restored. Set a password with agent-webui password, add your API keys in Settings → Models,',
          'and sign in to MCP servers and notification services again. Then run agent-webui doctor.',
        ]),
    '',
  ].join('\n')

export const restore = async (
  { file, to, mode, withoutKeys, passphraseFile }: RestoreArguments,
  place: CommandContext,
): Promise<number> => {
  const { config, terminal, cwd } = place
  const path = resolve(cwd, file)
  if (mode !== 'restore') {
    const archive = await readArchive(path)
    if (mode === 'list')
      for (const { path: name, type, size = 0 } of archive.lines)
        if (type === 'file') terminal.out(`${String(size).padStart(12)}  ${name}\n`)
    terminal.note(describe(archive).trimEnd())
    if (mode === 'check') terminal.out('The backup is complete and undamaged.\n')
    return 0
  }
  checkPerson(config)
  // Before anything is said about the place.
  if (!existsSync(path)) throw missing(`There is no file ${path}.`)
  const home = to === null ? config.baseHome : resolve(cwd, to)
  const state = to === null ? config.stateDir : join(home, 'webui')
  const restored = await restoreBackup({
    file: path,
    home,
    state,
    async passphrase() {
      if (withoutKeys) return null
      const secret =
        presetPassphrase(passphraseFile, place) ??
        (terminal.interactive ? await terminal.askHidden('Passphrase of the keys: ') : null)
      if (!secret)
        throw invalid(
          `This backup has keys. ${HOW} To restore the rest only: --without-keys. Nothing was restored.`,
        )
      return secret
    },
  })
  terminal.out(nextSteps(restored, { home, isConfigured: to === null }))
  return 0
}
