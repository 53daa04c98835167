/** A terminal of a folder: a shell of the person, on a pseudo-terminal of this computer. */
import { z } from 'zod'

const MAX_COLS = 500
const MAX_ROWS = 300

/** A column is half as wide as it is high, so a window of one is too small for any program. */
export const TerminalSize = z.object({
  cols: z.number().int().min(2).max(MAX_COLS),
  rows: z.number().int().min(1).max(MAX_ROWS),
})
export type TerminalSize = z.infer<typeof TerminalSize>

export const Terminal = z
  .object({
    terminal_id: z.string(),
    /** Name of the shell, for example `bash`. */
    shell: z.string(),
    /** Where it was started. */
    cwd: z.string(),
    cols: z.number(),
    rows: z.number(),
    status: z.enum(['running', 'exited']),
    exit_code: z.number().nullable(),
    /** Seconds since 1970. */
    started_at: z.number(),
    /** In the list: names of what runs in it besides the shell; absent where that cannot be known. */
    programs: z.array(z.string()).exactOptional(),
  })
  .meta({ id: 'Terminal' })
export type Terminal = z.infer<typeof Terminal>

export const TerminalOutput = z
  .object({
    /** What to write to the screen; empty when nothing arrived in time. */
    text: z.string(),
    /** Position after `text`, in UTF-16 units since the start: the next `after`. */
    next: z.number(),
    /** Output before `text` is no longer stored: the screen starts empty, followed by it. */
    reset: z.boolean(),
    /** There is more already. */
    more: z.boolean(),
    terminal: Terminal,
  })
  .meta({ id: 'TerminalOutput' })
export type TerminalOutput = z.infer<typeof TerminalOutput>
