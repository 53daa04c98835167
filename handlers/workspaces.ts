/** Workspaces: the directories that the agent of a profile works in. */
import { z } from 'zod'
import { endpoint, requireWorkspace } from '../lib/context.ts'
import { CommandsHere } from '../lib/schema/command-place.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { FolderList, Workspace } from '../lib/schema/workspace.ts'

const Path = z
  .string()
  .max(4096)
  .refine(path => path.trim() !== '', 'path is required')
const Name = z.string().max(200)
const Changed = Ok.extend({ workspaces: z.array(Workspace) })

export const list = endpoint({
  access: 'read',
  summary: 'Workspaces of the profile, and the last used one',
  output: z.object({
    workspaces: z.array(Workspace),
    last: z.string(),
    /** The service's own folder, for chats when nobody chose one. */
    scratch: z.string(),
  }),
  run: ({ app: { workspaces }, home }) => ({
    workspaces: workspaces.list(home),
    last: workspaces.last(home),
    scratch: workspaces.scratch,
  }),
})

export const add = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Add an existing directory, which makes it trusted',
  input: z.object({ path: Path, name: Name.optional() }),
  output: Changed,
  run: ({ app, home }, { path, name }) => ({
    ...ok,
    workspaces: app.workspaces.add(home, path, name ?? undefined),
  }),
})

export const remove = endpoint({
  access: 'own',
  summary: 'Remove a directory from the list; its files are kept',
  input: z.object({ path: Path }),
  output: Changed,
  run: ({ app, home }, { path }) => ({ ...ok, workspaces: app.workspaces.remove(home, path) }),
})

export const rename = endpoint({
  access: 'own',
  summary: 'Rename a workspace',
  input: z.object({ path: Path, name: Name }),
  output: Changed,
  run: ({ app, home }, { path, name }) => ({
    ...ok,
    workspaces: app.workspaces.rename(home, path, name),
  }),
})

export const reorder = endpoint({
  access: 'own',
  summary: 'Reorder the workspaces',
  input: z.object({ paths: z.array(z.string().max(4096)).max(1000) }),
  output: Changed,
  run: ({ app, home }, { paths }) => ({ ...ok, workspaces: app.workspaces.reorder(home, paths) }),
})

export const facts = endpoint({
  access: 'work',
  summary:
    'What a directory contains that can be worked on: changes, TODO marks, tests; and where commands run',
  input: z.object({ path: z.string().max(4096).default('') }),
  output: z.object({
    empty: z.boolean(),
    readme: z.boolean(),
    /** The command that runs the tests, where a file names it. */
    test_command: z.string().nullable(),
    /** Uncommitted files; null when unknown. */
    changed_files: z.number().nullable(),
    /** TODO and FIXME marks; null when unknown. */
    todos: z.number().nullable(),
    commands: CommandsHere,
  }),
  async run(ctx, { path }) {
    const { app, home } = ctx
    requireWorkspace(ctx, home, path)
    const workspace = app.workspaces.check(home, path)
    const facts = await app.startingFacts(home, workspace)
    return { ...facts, commands: app.commandPlaces.here(home, workspace) }
  },
})

export const suggest = endpoint({
  access: 'own',
  summary: 'Directories with this prefix, inside trusted directories',
  input: z.object({ prefix: z.string().default('') }),
  output: z.object({ suggestions: z.array(z.string()), prefix: z.string() }),
  run: ({ app, home }, { prefix }) => ({
    suggestions: app.workspaces.suggest(home, prefix),
    prefix,
  }),
})

export const folders = endpoint({
  access: 'own',
  summary: 'Folders inside of one, to choose a workspace from, inside trusted directories',
  input: z.object({ path: z.string().max(4096).default('') }),
  output: FolderList,
  run: ({ app, home }, { path }) => app.workspaces.folders(home, path),
})
