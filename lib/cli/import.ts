/** `agent-webui import`: chats from the export of another program, while the server runs or not. */
import { join, resolve } from 'node:path'
import { importTarget } from '../app/import-target.ts'
import { systemClock } from '../base/clock.ts'
import { asObject, stringOrNull } from '../base/json.ts'
import { visibleName } from '../base/visible.ts'
import { importExport } from '../sessions/imports/imports.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { Homes } from '../profiles/homes.ts'
import { Projects } from '../workspaces/projects.ts'
import type { ImportReport, ImportProblemCode, LeftOutCode } from '../schema/import.ts'
import { SessionFiles, writeJournal } from '../sessions/files.ts'
import { readImported } from '../sessions/imported.ts'
import { runningPid } from '../store/instance-lock.ts'
import { JsonFile } from '../store/json-file.ts'
import { makeDir } from '../store/make-dir.ts'
import { resolveDefaultWorkspace } from '../workspaces/default-workspace.ts'
import { FileScopes } from '../workspaces/file-scope.ts'
import { Workspaces } from '../workspaces/workspaces.ts'
import type { CommandContext } from './run.ts'

export type ImportArguments = {
  file: string
  profile: string | null
  isDryRun: boolean
  json: boolean
}

const LEFT_OUT: Readonly<Record<LeftOutCode, string>> = {
  hidden: 'messages that the other program does not show',
  instructions: 'custom instructions',
  memory: 'memories',
  file_missing: 'files that are not in the export',
  file_too_large: 'files larger than 512 MB',
  file_not_stored: 'files that could not be stored',
  part_unknown: 'parts of an unknown kind',
  project_unnamed: 'chats in a project or folder that the export does not name',
  project_not_allowed: 'chats in a project, which only an owner can create',
  project_files: 'files of projects',
  custom_assistant: 'chats with a custom assistant',
  tags: 'tags that do not fit into the title',
  rating: 'ratings of answers',
}

const PROBLEMS: Readonly<Record<ImportProblemCode, string>> = {
  unreadable: 'could not be read',
  too_large: 'is larger than 64 MB',
  too_deep: 'is nested too deeply',
  cut: 'the file ends partway through it',
  damaged: 'is damaged',
  other_format: 'is no conversation of this format',
  no_messages: 'has no messages',
}

const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`

const sentences = ({
  counts,
  files,
  versions,
  left_out,
  problems,
  problem_count,
}: ImportReport) => {
  const more = problem_count - problems.length
  return [
    `${count(counts.new, 'chat')} imported, ${counts.updated} updated, ${counts.unchanged} there already, ${counts.kept} kept as they are here; ${count(files, 'file')}, ${count(versions, 'version')} of messages.`,
    ...(left_out.length > 0 ? ['Left out:'] : []),
    ...left_out.map(
      ({ code, count: of, names }) =>
        `  ${of} × ${LEFT_OUT[code]}${names.length > 0 ? `: ${names.map(visibleName).join(', ')}${of > names.length ? ', …' : ''}` : ''}`,
    ),
    ...(problem_count > 0 ? ['Not imported:'] : []),
    ...problems.map(({ name, code }) => `  ${visibleName(name)}: ${PROBLEMS[code]}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

/** The exit code is 1 when something was set aside. */
export const importChats = async (
  { file, profile, isDryRun, json }: ImportArguments,
  { config, terminal, cwd }: CommandContext,
): Promise<number> => {
  const { stateDir } = config
  const clock = systemClock
  const homes = new Homes(config, clock)
  const home = homes.open(profile ?? homes.active())
  const path = new JsonFile(join(stateDir, 'settings.json'), asObject).read().default_workspace
  const standard = resolveDefaultWorkspace(config, stringOrNull(path) ?? undefined)
  const workspace = new Workspaces(config, () => standard).defaultOf(home)
  const scopes = new FileScopes(
    config,
    () => ({ workspace, home }),
    () => otherHomePaths(homes, home),
  )
  const files = new SessionFiles(join(stateDir, 'sessions'))
  if (!isDryRun) makeDir(files.dir)
  const target = importTarget({
    profile: home.name,
    workspace,
    find(id) {
      const chat = readImported(files, id)
      // A running service may add to a chat between this look and the writing: beside it, no chat is replaced.
      return chat && runningPid(stateDir) !== undefined ? { ...chat, changes: null } : chat
    },
    write: (id, entries) => writeJournal(files.jsonl(id), entries),
    area: () => scopes.scopeFor(home, workspace),
    // Sessions are only taken out of a project by the service.
    projects: new Projects(
      join(stateDir, 'projects.json'),
      () => [],
      () => undefined,
      clock,
    ),
    clock,
  })
  const report = await importExport({
    ...{ path: resolve(cwd, file), target, isDryRun },
    log: line => terminal.note(visibleName(line)),
  })
  terminal.out(
    json
      ? `${JSON.stringify(report, null, 2)}\n`
      : `${isDryRun ? 'Nothing was written. ' : ''}${sentences(report).join('\n')}\n`,
  )
  return report.problem_count > 0 ? 1 : 0
}
