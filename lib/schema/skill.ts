/** Skills: directories with instructions for the agent. List rows and full records. */
import { z } from 'zod'

export const SkillRow = z
  .object({
    name: z.string(),
    description: z.string(),
    category: z.string().nullable(),
    enabled: z.boolean(),
    /** False: the skill is for another operating system. */
    compatible: z.boolean(),
    /** In a directory outside the profile. */
    read_only: z.boolean(),
    /** Called in a message as `/slug`. */
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
    /** Content of SKILL.md, with front matter. */
    content: z.string(),
    /** Path of SKILL.md, relative to the skills directory. */
    path: z.string(),
    /** Changes with the content. */
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

/** A file of a skill; empty content for binary files. */
export const LinkedFile = z
  .object({
    content: z.string(),
    path: z.string(),
    is_binary: z.boolean(),
    size: z.number(),
    /** Changes with the content. */
    version: z.string(),
  })
  .meta({ id: 'LinkedFile' })
export type LinkedFile = z.infer<typeof LinkedFile>

/** A slash command of the user, from a Markdown file of the home. */
export const OwnCommand = z.object({
  /** Typed after the slash. */
  name: z.string(),
  description: z.string(),
  argument_hint: z.string(),
  /** Absolute path. */
  file: z.string(),
})
export type OwnCommand = z.infer<typeof OwnCommand>
