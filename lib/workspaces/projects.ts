/** Projects: a list in one file, which other programs may edit. */
import type { UnreadableFile } from '../schema/file-problem.ts'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { type Clock, toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { invalid, missing } from '../errors.ts'
import { PROJECT_COLOR, PROJECT_NAME_CHARS, type Project } from '../schema/project.ts'
import { JsonFile } from '../store/json-file.ts'

/** Sessions that are written before yielding to the event loop. */
const BATCH_SIZE = 100

const textAt = (value: object, key: string): string => {
  const text = (value as Readonly<Record<string, unknown>>)[key]
  return typeof text === 'string' ? text : ''
}

/** Parses a stored project tolerantly; unknown keys are preserved. Entries without id or name are skipped. */
const parseProject = (raw: unknown): Project[] => {
  if (!isObject(raw)) return []
  const project_id = textAt(raw, 'project_id')
  const name = textAt(raw, 'name')
  const color = textAt(raw, 'color')
  const created = 'created_at' in raw ? Number(raw.created_at) : 0
  if (!project_id || !name.trim()) return []
  return [
    {
      ...raw,
      project_id,
      name,
      color: PROJECT_COLOR.test(color) ? color : null,
      created_at: Number.isFinite(created) ? created : 0,
    },
  ]
}

type ProjectFile = { raw: readonly unknown[]; projects: Project[] }

export const parseProjects = (value: unknown): ProjectFile => {
  if (value === undefined) return { raw: [], projects: [] }
  if (!Array.isArray(value)) throw new Error('it is not a list')
  return { raw: value, projects: value.flatMap(parseProject) }
}

/** Trims and validates a name. Length is counted in code points. */
const checkProjectName = (raw: string): string => {
  const name = raw.trim()
  if (!name) throw invalid('name required', { code: 'missing_fields' })
  if ([...name].length > PROJECT_NAME_CHARS)
    throw invalid(`name must be at most ${PROJECT_NAME_CHARS} characters`, {
      code: 'name_too_long',
      values: { max: PROJECT_NAME_CHARS },
    })
  return name
}

const checkProjectColor = (raw: string | null): string | null => {
  if (raw === null || raw === '') return null
  if (!PROJECT_COLOR.test(raw)) throw invalid('Invalid color format')
  return raw
}

export class Projects {
  /** `<state>/projects.json` */
  readonly #path: string
  /** Sessions of a project, as on disk now. */
  readonly #members: (id: string) => readonly string[]
  readonly #unassign: (sessionId: string) => void
  readonly #clock: Clock
  readonly #file: JsonFile<ProjectFile>

  constructor(
    path: string,
    members: (id: string) => readonly string[],
    unassign: (sessionId: string) => void,
    clock: Clock,
  ) {
    this.#path = path
    this.#members = members
    this.#unassign = unassign
    this.#clock = clock
    this.#file = new JsonFile(path, parseProjects)
  }

  #find(id: string): Project {
    const match = this.#file.read().projects.find(project => project.project_id === id)
    if (!match) throw missing('Project not found', { code: 'project_not_found' })
    return match
  }

  /** Replaces or removes one project; unrecognized entries are preserved. */
  #replace(id: string, by: Project | undefined): void {
    this.#file.write(
      this.#file.read().raw.flatMap(entry => {
        const isIt = isObject(entry) && textAt(entry, 'project_id') === id
        return isIt ? (by ?? []) : [entry]
      }),
    )
  }

  list(): readonly Project[] {
    return this.#file.read().projects
  }

  /** Null when the file is readable. */
  problem(): UnreadableFile | null {
    const reason = this.#file.problem()
    return reason === null ? null : { file: this.#path, reason, in_force: !this.#file.isLost() }
  }

  create({ name, color }: { name: string; color?: string | null | undefined }): Project {
    const project = {
      project_id: randomBytes(6).toString('hex'),
      name: checkProjectName(name),
      color: checkProjectColor(color ?? null),
      created_at: toSeconds(this.#clock.now()),
    }
    this.#file.write([...this.#file.read().raw, project])
    return project
  }

  /** The color is unchanged unless given; null clears it. */
  rename(
    id: string,
    { name, color }: { name: string; color?: string | null | undefined },
  ): { name: string; color: string | null; project_id: string; created_at: number } {
    const newName = checkProjectName(name)
    const newColor = color === undefined ? undefined : checkProjectColor(color)
    const project = this.#find(id)
    const next = {
      ...project,
      name: newName,
      color: newColor === undefined ? project.color : newColor,
    }
    this.#replace(id, next)
    return next
  }

  /** Unassigns the sessions first, so that a crash never leaves sessions with a missing project. */
  async remove(id: string): Promise<void> {
    this.#find(id)
    for (let ids = this.#members(id); ids.length > 0; ids = this.#members(id)) {
      for (const sessionId of ids.slice(0, BATCH_SIZE)) this.#unassign(sessionId)
      await setImmediate()
    }
    this.#replace(id, undefined)
  }
}
