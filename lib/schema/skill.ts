/** A skill: a directory with instructions the agent can read, as one row of a list and as a whole. */
import { z } from 'zod'

export const SkillRow = z
  .object({
    name: z.string(),
    description: z.string(),
    category: z.string().nullable(),
    enabled: z.boolean(),
    /** False: the skill says it is for another operating system. */
    compatible: z.boolean(),
    /** Of a directory that is not ours to write. */
    read_only: z.boolean(),
    /** What starts a message with it: `/slug`. */
    slug: z.string(),
  })
  .meta({ id: 'SkillRow' })
export type SkillRow = z.infer<typeof SkillRow>

export const SkillCategory = z
  .object({ name: z.string(), description: z.string() })
  .meta({ id: 'SkillCategory' })
export type SkillCategory = z.infer<typeof SkillCategory>

export const Skill = z
  .object({
    success: z.literal(true),
    ...SkillRow.shape,
    tags: z.array(z.string()),
    related_skills: z.array(z.string()),
    /** SKILL.md as it is, front matter included. */
    content: z.string(),
    /** Of SKILL.md, from the directory all skills are in. */
    path: z.string(),
    /** Differs when the content does. */
    version: z.string(),
    mtime: z.number(),
    /** Kind → paths inside the skill; always an object. */
    linked_files: z.record(z.string(), z.array(z.string())),
    usage_hint: z.string().nullable(),
    required_environment_variables: z.array(z.looseObject({ name: z.string() })),
    required_commands: z.array(z.string()),
    missing_required_environment_variables: z.array(z.string()),
    missing_credential_files: z.array(z.string()),
    missing_required_commands: z.array(z.string()),
    setup_needed: z.boolean(),
    setup_skipped: z.boolean(),
    readiness_status: z.enum(['available', 'setup_needed', 'unsupported']),
    setup_help: z.string().optional(),
    setup_note: z.string().optional(),
    compatibility: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Skill' })
export type Skill = z.infer<typeof Skill>

/** A file of a skill; the content of one that is no text is empty. */
export const LinkedFile = z
  .object({
    content: z.string(),
    path: z.string(),
    is_binary: z.boolean(),
    size: z.number(),
    /** Differs when the content does. */
    version: z.string(),
  })
  .meta({ id: 'LinkedFile' })
export type LinkedFile = z.infer<typeof LinkedFile>
