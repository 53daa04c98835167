/** The engine's tools. A new tool is one file, one line here, and one in `lib/base/tools.ts`, which the page reads too. */
import type { z } from 'zod'
import type { Tool } from '../types.ts'
import { clarify } from './clarify.ts'
import { delegate } from './delegate.ts'
import { patch } from './patch.ts'
import { processTool } from './process.ts'
import { readFile } from './read-file.ts'
import { searchFiles } from './search-files.ts'
import { terminalTool, type TerminalSettings } from './terminal.ts'
import { todo } from './todo.ts'
import { writeFile } from './write-file.ts'

/** The loop passes only input that the tool's schema has parsed, so the type can be widened. */
export const asTool = <I extends z.ZodType>(tool: Tool<I>): Tool => tool as unknown as Tool

export const toolbox = (terminal?: TerminalSettings): readonly Tool[] => [
  asTool(terminalTool(terminal)),
  asTool(processTool),
  asTool(readFile),
  asTool(writeFile),
  asTool(patch),
  asTool(searchFiles),
  asTool(todo),
  asTool(clarify),
  asTool(delegate),
]
