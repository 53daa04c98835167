/** What a call of one of our tools reaches, from its arguments. A tool without a row reaches nothing but itself. */
import { realPath } from '../../store/path-within.ts'
import { isPatchCall, parsePatch } from '../tools/patch-text.ts'
import { resolvePath } from '../tools/allowed-paths.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import { directoryOf } from '../tools/shell-state.ts'
import type { Processes } from '../tool-services.ts'
import type { CommandScope, Memos } from '../types.ts'
import { scriptAccesses } from './command-reach.ts'
import type { Access } from './types.ts'
import { isObject } from '../../base/json.ts'

type Args = Readonly<Record<string, unknown>>
export type Place = CommandScope & Memos & { processes?: Processes }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const pathAccess = (
  kind: 'read' | 'write',
  path: string,
  place: Place,
  reach: 'file' | 'tree' = 'file',
): Access[] => (path === '' ? [] : [{ kind, path: resolvePath(place, path), reach }])

const hostAccess = (url: string): Access => ({
  kind: 'host',
  host: URL.canParse(url) ? new URL(url).hostname.toLowerCase() : null,
})

/** Every file that a patch names. An invalid patch is refused by the tool itself. */
const patchedFiles = (args: Args): string[] => {
  if (!isPatchCall(args)) return [textOf(args.path)]
  try {
    return parsePatch(textOf(args.patch)).flatMap(operation => [
      operation.path,
      ...('moveTo' in operation && operation.moveTo !== null ? [operation.moveTo] : []),
    ])
  } catch {
    // The tool reports what is wrong with it.
    return []
  }
}

const commandIn = (command: string, cwd: string, place: Place): Access[] =>
  command === '' ? [] : [{ kind: 'command', command, shell: shellContextFor(place, cwd) }]

type Reach = (args: Args, place: Place) => Access[]

const REACH: Readonly<Record<string, Reach>> = {
  read_file: ({ path }, place) => pathAccess('read', textOf(path), place),
  // The files of a directory are checked one by one while it is listed.
  search_files: ({ path }, place) => pathAccess('read', textOf(path) || '.', place),
  write_file: ({ path }, place) => pathAccess('write', textOf(path), place),
  // Its result shows lines of the file.
  patch: (args, place) =>
    patchedFiles(args).flatMap(path => [
      ...pathAccess('write', path, place),
      ...pathAccess('read', path, place),
    ]),
  vision_analyze({ image_url: image }, place) {
    const given = textOf(image)
    if (/^data:/i.test(given)) return []
    if (/^https?:/i.test(given)) return [hostAccess(given)]
    return pathAccess('read', given.replace(/^file:\/\//i, ''), place)
  },
  web_extract: ({ urls }) => (Array.isArray(urls) ? urls.map(url => hostAccess(String(url))) : []),
  terminal({ command, workdir }, place) {
    const cwd = typeof workdir === 'string' ? resolvePath(place, workdir) : directoryOf(place)
    return commandIn(textOf(command), cwd, place)
  },
  process({ action, session_id: id, data }, place) {
    if (action !== 'write' && action !== 'submit') return []
    const { processes } = place
    // The tool refuses an unknown process.
    const known = processes?.list().find(view => view.session_id === id)
    return known && processes
      ? commandIn(processes.pendingInput(known.session_id) + textOf(data), known.cwd, place)
      : []
  },
  execute_code: ({ code }, place) =>
    scriptAccesses(textOf(code), shellContextFor(place, realPath(place.workspace))),
  delegate_task({ agent, tasks }) {
    const named = [
      agent,
      ...(Array.isArray(tasks) ? tasks.map(task => isObject(task) && task.agent) : []),
    ]
    return named.flatMap((name): Access[] =>
      typeof name === 'string' && name !== '' ? [{ kind: 'agent', name }] : [],
    )
  },
}

/** Names of the tools with a row, for the test that every tool has one or needs none. */
export const REACHING_TOOLS: readonly string[] = Object.keys(REACH)

/** `args` as validated by the tool. */
export const callAccesses = (tool: string, args: unknown, place: Place): Access[] =>
  Object.hasOwn(REACH, tool) && isObject(args) ? (REACH[tool]?.(args, place) ?? []) : []
