/** The tasks of the evaluation: twenty small ones, and ten of forty steps and more. */
import type { Task } from './task.ts'
import { CODE_TASKS } from './tasks/code.ts'
import { FILE_TASKS } from './tasks/files.ts'
import { LONG_READING_TASKS } from './tasks/long-reading.ts'
import { LONG_WORK_TASKS } from './tasks/long-work.ts'
import { PROGRAM_TASKS } from './tasks/programs.ts'
import { SEARCH_TASKS } from './tasks/search.ts'

export const TASKS: readonly Task[] = [
  ...CODE_TASKS,
  ...SEARCH_TASKS,
  ...FILE_TASKS,
  ...PROGRAM_TASKS,
  ...LONG_READING_TASKS,
  ...LONG_WORK_TASKS,
]
