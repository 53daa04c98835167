/** Runs one command of the command line and returns the exit code. */
import { join } from 'node:path'
import { redact } from '../base/redact/redact.ts'
import { type Config, readConfig } from '../config.ts'
import { EXIT_SETUP, SetupError, UserError } from '../errors.ts'
import type { Machine } from '../operations/checks/machine.ts'
import { readVersion } from '../operations/version.ts'
import { errorCode, sentenceOf } from '../store/file-error.ts'
import { packedHere } from '../store/packed.ts'
import { type CliCommand, COMMANDS, helpFor, unknownCommand } from './cli.ts'
import { ProcessTerminal, type Terminal } from './terminal.ts'

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

export type ContextOptions = {
  environment: Readonly<{ [name: string]: string | undefined }>
  unpackAddon?: ((config: Config) => string | undefined) | undefined
  /** Default: those of the process. */
  terminal?: Terminal
  cwd?: string
  onInterrupt?: Interrupts
  /** What `doctor` checks; for tests. */
  machine?: Machine | undefined
  /** For tests, which run many commands: asking git takes as long as most of them. */
  version?: string
  /** First segments of the paths of the server, which `doctor` knows the base path by. */
  ownNames?: ReadonlySet<string> | undefined
}

/** What a command gets. What is not needed by all of them is made when it is asked for. */
export class CommandContext {
  readonly terminal: Terminal
  readonly cwd: string
  readonly onInterrupt: Interrupts
  readonly machine: Machine | undefined
  readonly ownNames: ReadonlySet<string>
  readonly #options: ContextOptions
  #config: Config | undefined

  constructor(options: ContextOptions) {
    this.#options = options
    this.terminal = options.terminal ?? new ProcessTerminal()
    this.cwd = options.cwd ?? process.cwd()
    this.onInterrupt = options.onInterrupt ?? onSignals
    this.machine = options.machine
    this.ownNames = options.ownNames ?? new Set()
  }

  /** Throws for an environment that is not valid. */
  get config(): Config {
    this.#config ??= readConfig(this.#options.environment, [])
    return this.#config
  }

  /** Path of SQLite's addon, which the bundle unpacks. The state directory belongs to the server alone. */
  get addon(): string | undefined {
    const { userHome, env } = this.config
    const cache = join(env.XDG_CACHE_HOME || join(userHome, '.cache'), 'agent-webui')
    return this.#options.unpackAddon?.({ ...this.config, stateDir: cache })
  }

  readonly version = async (): Promise<string> => {
    if (this.#options.version !== undefined) return this.#options.version
    const packed = packedHere()
    const root = packed ? import.meta.dirname : join(import.meta.dirname, '../..')
    return readVersion({ root, builtIn: packed?.version, path: this.config.env.PATH })
  }
}

export const runCommand = async (
  command: CliCommand,
  argv: readonly string[],
  options: ContextOptions,
): Promise<number> => {
  const context = new CommandContext(options)
  const { terminal } = context
  try {
    if (command === 'unknown') throw new Error(unknownCommand(argv) ?? '')
    if (command === 'help') terminal.out(helpFor(argv))
    else if (command === 'version')
      terminal.out(`agent-webui ${await context.version()}\n${describeBuild()}\n`)
    else return await COMMANDS[command].parse(argv.slice(1))(context)
    return 0
  } catch (error) {
    // A bug shows its stack, any other error its message.
    const isBug = error instanceof TypeError || error instanceof ReferenceError
    terminal.note(redact(isBug ? String(error.stack) : sentenceOf(error)))
    // Of the system and of SQLite: what was asked for was right.
    const hasFailed = isBug || errorCode(error) !== ''
    // Of a unit: a new start would end the same way.
    if (error instanceof SetupError && command === 'worker') return EXIT_SETUP
    return hasFailed || error instanceof UserError || error instanceof SetupError ? 1 : 2
  } finally {
    await terminal.drain()
  }
}
