/** Runs one verb of the command line and says how the process ends. */
import { join } from 'node:path'
import { type Config, readConfig } from '../config.ts'
import { messageOf, UserError } from '../errors.ts'
import { openPacked } from '../packed.ts'
import { redact } from '../redact/redact.ts'
import { readVersion } from '../version.ts'
import {
  HELP,
  parseChat,
  parseDoctor,
  parseExport,
  parsePassword,
  type CliCommand,
} from './arguments.ts'
import { chat } from './chat.ts'
import { reportBadEnvironment, doctor } from './doctor.ts'
import { exportSessions } from './export.ts'
import { changePassword } from './password.ts'
import { waitForService } from './wait-ready.ts'
import { createTerminal, type Terminal } from './terminal.ts'

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Calls with the exit code a signal means; answers how to stop listening. */
export type Interrupts = (interrupt: (code: number) => void) => () => void

const onSignals: Interrupts = interrupt => {
  const heard = Object.entries(SIGNALS).map(([name, code]) => {
    const listener = () => interrupt(code)
    process.on(name, listener)
    return () => process.off(name, listener)
  })
  return () => {
    for (const stop of heard) stop()
  }
}

const versionOf = (config: Config): Promise<string> => {
  const packed = openPacked()
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '../..')
  return readVersion({ root, builtIn: packed?.version, path: config.env.PATH })
}

/** Where the one file unpacks SQLite's addon: the state directory is the service's alone. */
const cacheOf = ({ userHome, env }: Config): string =>
  join(env.XDG_CACHE_HOME || join(userHome, '.cache'), 'agent-webui')

/** The configuration, or why there is none: that is something `doctor` reports. */
const configFor = (
  verb: CliCommand,
  environment: Readonly<{ [name: string]: string | undefined }>,
): Config | string => {
  try {
    return readConfig(environment, [])
  } catch (error) {
    if (verb !== 'doctor') throw error
    return messageOf(error)
  }
}

export const runCommand = async (
  verb: CliCommand,
  argv: readonly string[],
  given: {
    environment: Readonly<{ [name: string]: string | undefined }>
    unpackAddon?: ((config: Config) => string | undefined) | undefined
    /** Where it happens; the process's own when absent. */
    terminal?: Terminal
    cwd?: string
    onInterrupt?: Interrupts
  },
): Promise<number> => {
  const { terminal = createTerminal(), cwd = process.cwd() } = given
  try {
    if (verb === 'help') {
      terminal.out(HELP)
      await terminal.drain()
      return 0
    }
    const rest = argv.slice(1)
    const checked = verb === 'doctor' ? parseDoctor(rest) : null
    const config = configFor(verb, given.environment)
    if (typeof config === 'string')
      return await reportBadEnvironment(config, { json: checked?.json === true, terminal })
    if (checked && checked.waitSeconds !== null)
      return await waitForService(config, checked.waitSeconds, terminal)
    if (verb === 'password') return await changePassword(parsePassword(rest), { config, terminal })
    const version = await versionOf(config)
    if (verb === 'version') {
      terminal.out(`agent-webui ${version}\n`)
      await terminal.drain()
      return 0
    }
    const asked = verb === 'chat' ? parseChat(rest) : null
    const exported = verb === 'export' ? parseExport(rest) : null
    if (exported) return await exportSessions(exported, { config, terminal, cwd })
    const addon = given.unpackAddon?.({ ...config, stateDir: cacheOf(config) })
    const shared = { config, version, terminal, addon }
    if (checked) return await doctor(checked, shared)
    if (asked)
      return await chat(asked, {
        ...shared,
        cwd,
        onInterrupt: given.onInterrupt ?? onSignals,
      })
    return 0
  } catch (error) {
    // What a person can do something about is a sentence; a mistake of ours shows where.
    const isOurs = error instanceof TypeError || error instanceof ReferenceError
    terminal.note(redact(isOurs ? String(error.stack) : messageOf(error)))
    await terminal.drain()
    return error instanceof UserError ? 1 : 2
  }
}
