/** The program that is running: its file, how it was started, and the process that watches its successor after an update. */
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { startDetached } from '../base/process.ts'
import type { Config } from '../config.ts'
import { isExecutable, packedHere } from '../packed.ts'
import { thisTarget } from '../store/sqlite-addon.ts'
import type { OwnProgram } from '../updates/prepare-switch.ts'

/** How `file` is run with these arguments: an executable by itself, the single file by this Node. */
const commandFor = (file: string, args: readonly string[]): [string, ...string[]] =>
  isExecutable() ? [file, ...args] : [process.execPath, ...process.execArgv, file, ...args]

/** How this program is run with these arguments. */
export const ownCommand = (args: readonly string[]): [string, ...string[]] =>
  commandFor(isExecutable() ? process.execPath : (process.argv[1] ?? ''), args)

/** The arguments of a person; an executable has its own path in place of the script. */
export const ownArguments = (): string[] => process.argv.slice(2)

/** Null when this runs from sources, which are no single file that could be replaced. */
export const ownProgram = ({ env, stateDir }: Config, address: () => string): OwnProgram | null => {
  const given = isExecutable() ? process.execPath : process.argv[1]
  if (!packedHere() || given === undefined) return null
  const file = realpathSync(given)
  const again = ownArguments().includes('--no-browser') ? [] : ['--no-browser']
  return {
    file,
    stateDir,
    kind: isExecutable() ? thisTarget() : 'node',
    commandFor,
    facts() {
      const [command, ...args] = commandFor(file, [...ownArguments(), ...again])
      return {
        command,
        args,
        cwd: process.cwd(),
        address: address(),
        pid: process.pid,
        // systemd sets both; another supervisor restarts a program that ends, as the person configured it.
        supervised: Boolean(env.INVOCATION_ID || env.NOTIFY_SOCKET),
      }
    },
    async watch(previous, record) {
      const [command, ...args] = commandFor(previous, ['watch-update', record])
      await startDetached(command, args, { cwd: dirname(file), env, ready: true })
    },
  }
}
