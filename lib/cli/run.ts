/** Runs one command of the command line and returns the exit code. */
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Machine } from '../app/machine.ts'
import { type Config, readConfig } from '../config.ts'
import { messageOf, SetupError, UserError } from '../errors.ts'
import { errorCode, sentenceOf } from '../store/file-error.ts'
import { packedHere } from '../store/packed.ts'
import { redact } from '../base/redact/redact.ts'
import { readVersion } from '../operations/version.ts'
import {
  parseChat,
  parseConfig,
  parseDoctor,
  parseExport,
  parseImport,
  parsePassword,
  parseServe,
  unknownCommand,
  type CliCommand,
} from './arguments.ts'
import { acp } from './acp/acp.ts'
import { parseBackup, parseRestore } from './backup-arguments.ts'
import { chat } from './chat.ts'
import { mcp } from './mcp/mcp.ts'
import { changeConfig } from './config.ts'
import { badEnvironment, doctor, doctorOfAddress, notUnpacked, reportOnly } from './doctor.ts'
import { exportSessions } from './export.ts'
import { helpFor } from './help.ts'
import { changePassword } from './password.ts'
import { waitForService } from './wait-ready.ts'
import { createTerminal, type Terminal } from './terminal.ts'

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Calls `interrupt` with the exit code of a signal; returns a function that removes the listeners. */
export type Interrupts = (interrupt: (code: number) => void) => () => void

const onSignals: Interrupts = interrupt => {
  const removers = Object.entries(SIGNALS).map(([name, code]) => {
    const listener = () => interrupt(code)
    process.on(name, listener)
    return () => process.off(name, listener)
  })
  return () => {
    for (const remove of removers) remove()
  }
}

/** What runs this, and for the executable the C library it needs. */
const describeBuild = (): string => {
  const platform = `Node.js ${process.versions.node} on ${process.platform}-${process.arch}`
  const libc = packedHere()?.libc
  return libc === undefined ? platform : `${platform}, built in; needs ${libc} or newer`
}

const versionOf = (config: Config): Promise<string> => {
  const packed = packedHere()
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '../..')
  return readVersion({ root, builtIn: packed?.version, path: config.env.PATH })
}

/** Where the bundle unpacks SQLite's addon. The state directory belongs to the server alone. */
const cacheOf = ({ userHome, env }: Config): string =>
  join(env.XDG_CACHE_HOME || join(userHome, '.cache'), 'agent-webui')

/** The configuration; for `doctor`, the message of an invalid one, because `doctor` reports it. */
const configFor = (
  command: CliCommand,
  environment: Readonly<{ [name: string]: string | undefined }>,
): Config | string => {
  try {
    return readConfig(environment, [])
  } catch (error) {
    if (command !== 'doctor') throw error
    return messageOf(error)
  }
}

export const runCommand = async (
  command: CliCommand,
  argv: readonly string[],
  given: {
    environment: Readonly<{ [name: string]: string | undefined }>
    unpackAddon?: ((config: Config) => string | undefined) | undefined
    /** Default: those of the process. */
    terminal?: Terminal
    cwd?: string
    onInterrupt?: Interrupts
    /** What `doctor` checks; for tests. */
    machine?: Machine | undefined
    /** First segments of the paths of the server, which `doctor` knows the base path by. */
    ownNames?: ReadonlySet<string> | undefined
  },
): Promise<number> => {
  const { terminal = createTerminal(), cwd = process.cwd() } = given
  try {
    if (command === 'help') {
      terminal.out(helpFor(argv))
      await terminal.drain()
      return 0
    }
    if (command === 'unknown') throw new Error(unknownCommand(argv) ?? '')
    const rest = argv.slice(1)
    const checked = command === 'doctor' ? parseDoctor(rest) : null
    if (checked && checked.url !== null)
      return await doctorOfAddress(checked.url, { json: checked.json, terminal })
    const config = configFor(command, given.environment)
    const json = checked?.json === true
    if (typeof config === 'string')
      return await reportOnly(badEnvironment(config), { json, terminal })
    if (checked && checked.waitMs !== null)
      return await waitForService(config, checked.waitMs, { clock: systemClock, terminal })
    if (command === 'config') return await changeConfig(parseConfig(rest), { config, terminal })
    if (command === 'password')
      return await changePassword(parsePassword(rest), { config, terminal })
    const version = await versionOf(config)
    if (command === 'version') {
      terminal.out(`agent-webui ${version}\n${describeBuild()}\n`)
      await terminal.drain()
      return 0
    }
    const asked = command === 'chat' ? parseChat(rest) : null
    const served = command === 'acp' || command === 'mcp' ? parseServe(command, rest) : null
    const exported = command === 'export' ? parseExport(rest) : null
    if (exported) return await exportSessions(exported, { config, terminal, cwd })
    if (command === 'import') {
      const { importChats } = await import('./import.ts')
      return await importChats(parseImport(rest), { config, terminal, cwd })
    }
    if (command === 'forward') {
      const { forward } = await import('./forward.ts')
      if (rest.length > 0) throw new Error('forward takes no arguments. See forward --help.')
      return await forward(config, { version, onInterrupt: given.onInterrupt ?? onSignals })
    }
    if (command === 'cells') {
      const { changeCells, parseCells } = await import('./cells.ts')
      return await changeCells(parseCells(rest), { config, terminal })
    }
    if (command === 'restore') {
      const { restore } = await import('./backup.ts')
      return await restore(parseRestore(rest), { config, terminal, cwd })
    }
    const saved = command === 'backup' ? parseBackup(rest) : null
    let addon: string | undefined
    try {
      addon = given.unpackAddon?.({ ...config, stateDir: cacheOf(config) })
    } catch (error) {
      if (!checked) throw error
      return await reportOnly(notUnpacked(messageOf(error)), { json, terminal })
    }
    if (command === 'worker') {
      const { work } = await import('./worker.ts')
      if (rest.length > 0) throw new Error('worker takes no arguments. See worker --help.')
      return await work(config, { version, addon, onInterrupt: given.onInterrupt ?? onSignals })
    }
    if (saved) {
      const { backup } = await import('./backup.ts')
      return await backup(saved, { config, terminal, cwd, version, addon })
    }
    const shared = { config, version, terminal, addon }
    if (checked) {
      const { machine, ownNames } = given
      return await doctor(checked, { ...shared, machine, ownNames })
    }
    if (asked)
      return await chat(asked, {
        ...shared,
        cwd,
        onInterrupt: given.onInterrupt ?? onSignals,
      })
    if (served)
      return await (command === 'mcp' ? mcp : acp)(served, {
        config,
        version,
        addon,
        cwd,
        log: line => terminal.note(line),
        onInterrupt: given.onInterrupt ?? onSignals,
      })
    return 0
  } catch (error) {
    // A bug shows its stack, any other error its message.
    const isBug = error instanceof TypeError || error instanceof ReferenceError
    terminal.note(redact(isBug ? String(error.stack) : sentenceOf(error)))
    await terminal.drain()
    // Of the system and of SQLite: what was asked for was right.
    const hasFailed = isBug || errorCode(error) !== ''
    return hasFailed || error instanceof UserError || error instanceof SetupError ? 1 : 2
  }
}
