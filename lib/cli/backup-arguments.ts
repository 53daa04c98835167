/** The arguments of `agent-webui backup` and `agent-webui restore`. */
import { splitEquals, valueAt } from './arguments.ts'

export type BackupArguments = {
  file: string
  /** Empty: all profiles. */
  profiles: string[]
  withKeys: boolean
  passphraseFile: string | null
}

export type RestoreArguments = {
  file: string
  /** Null: the configured places. */
  to: string | null
  mode: 'restore' | 'list' | 'check'
  withoutKeys: boolean
  passphraseFile: string | null
}

const refuseOption = (word: string, command: string): never => {
  if (/^--?pass(?:word|phrase)$/.test(word))
    throw new Error(
      'A passphrase in an argument would be visible to other programs. Use --passphrase-file or AGENT_WEBUI_BACKUP_PASSPHRASE.',
    )
  throw new Error(`"${word}" is not an option of ${command}. See agent-webui ${command} --help.`)
}

const onlyFile = (words: readonly string[], command: string): string => {
  const [file, extra] = words
  if (file === undefined) throw new Error(`${command} needs a file name, such as backup.tar.zst.`)
  if (extra !== undefined) throw new Error(`${command} takes one file name; "${extra}" is another.`)
  return file
}

export const parseBackup = (argv: readonly string[]): BackupArguments => {
  const parsed = {
    profiles: [] as string[],
    withKeys: false,
    passphraseFile: null as string | null,
  }
  const words: string[] = []
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '-p' || word === '--profile') parsed.profiles.push(valueAt(given, ++at, word))
    else if (word === '--with-keys') parsed.withKeys = true
    else if (word === '--passphrase-file') parsed.passphraseFile = valueAt(given, ++at, word)
    else if (word.startsWith('-')) refuseOption(word, 'backup')
    else words.push(word)
  }
  if (parsed.passphraseFile !== null && !parsed.withKeys)
    throw new Error('--passphrase-file is for keys, which are saved with --with-keys only.')
  return { file: onlyFile(words, 'backup'), ...parsed }
}

export const parseRestore = (argv: readonly string[]): RestoreArguments => {
  const parsed: Omit<RestoreArguments, 'file'> = {
    to: null,
    mode: 'restore',
    withoutKeys: false,
    passphraseFile: null,
  }
  const words: string[] = []
  const given = splitEquals(argv)
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string
    if (word === '--to') parsed.to = valueAt(given, ++at, word)
    else if (word === '--list') parsed.mode = 'list'
    else if (word === '--check') parsed.mode = 'check'
    else if (word === '--without-keys') parsed.withoutKeys = true
    else if (word === '--passphrase-file') parsed.passphraseFile = valueAt(given, ++at, word)
    else if (word.startsWith('-')) refuseOption(word, 'restore')
    else words.push(word)
  }
  return { file: onlyFile(words, 'restore'), ...parsed }
}
