/** The twenty tasks of the evaluation. */
import type { Task } from './task.ts'
import { CODE_TASKS } from './tasks/code.ts'
import { FILE_TASKS } from './tasks/files.ts'
import { PROGRAM_TASKS } from './tasks/programs.ts'
import { SEARCH_TASKS } from './tasks/search.ts'

export const TASKS: readonly Task[] = [
  ...CODE_TASKS,
  ...SEARCH_TASKS,
  ...FILE_TASKS,
  ...PROGRAM_TASKS,
]
