/** How this program is started again. */
import { isExecutable } from '../store/packed.ts'

/** With these arguments: an executable by itself, the single file by this Node. */
export const ownCommand = (args: readonly string[]): [string, ...string[]] =>
  isExecutable()
    ? [process.execPath, ...args]
    : [process.execPath, ...process.execArgv, process.argv[1] ?? '', ...args]

/** The arguments of a person; an executable has its own path in place of the script. */
export const ownArguments = (): string[] => process.argv.slice(2)
