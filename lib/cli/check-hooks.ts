/** Checks that the programs of the configured hooks exist. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../base/find-program.ts'
import { programOf, scriptsOf } from '../profiles/hooks/scripts.ts'
import { hooksOf } from '../turns/context/turn-hooks.ts'
import { emptyIfUnreadable } from './check-home.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

export const hookChecks = ({ home }: CheckContext): Check[] =>
  emptyIfUnreadable(() => {
    // Relative names belong to the workspace, which differs from chat to chat.
    const elsewhere = join(home.dir, randomUUID())
    const place = { cwd: elsewhere, env: home.env() }
    const isKnown = (path: string) => !path.startsWith(elsewhere)
    return hooksOf(home).hooks.map(({ name, command, failClosed }) => {
      const program = programOf(command, place)
      const isMissing =
        program !== null && isKnown(program) && !findProgram(place.env.PATH ?? '', program)
      const missing = isMissing
        ? program
        : scriptsOf(command, place).find(path => isKnown(path) && !existsSync(path))
      const about = `hook ${name}`
      if (missing === undefined) return ok(about, command)
      const effect = failClosed
        ? 'Until then it blocks every call.'
        : 'Until then it has no effect.'
      return warn(
        'hook_missing',
        about,
        `${command}: ${missing} does not exist or is not executable`,
        `Fix it, or its command in ${home.config.path}. ${effect}`,
      )
    })
  })
