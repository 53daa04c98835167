/** Commands and subagents of the user: list, read, create, edit, rename, and delete their files. */
import { CHANGES } from '../lib/people/may.ts'
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { listOwnFiles, readOwnFile } from '../lib/profiles/skills/own-file-rows.ts'
import { removeOwnFile, saveOwnFile } from '../lib/profiles/skills/own-files.ts'
import { Ok } from '../lib/schema/ok.ts'
import { OwnFile, OwnFileFields, OwnFileKind, OwnFileRow } from '../lib/schema/own-file.ts'

const One = z.object({ kind: OwnFileKind, name: z.string().min(1).max(400) })

export const list = endpoint({
  access: 'read',
  summary: 'Commands or subagents of the user, also those without effect and why',
  input: z.object({ kind: OwnFileKind }),
  output: z.object({ files: z.array(OwnFileRow) }),
  run: (ctx, { kind }) => redactValue({ files: listOwnFiles(ctx.home, kind) }),
})

export const content = endpoint({
  access: 'read',
  summary: 'A command or subagent of the user, as fields and as text',
  input: One,
  output: OwnFile,
  run: (ctx, { kind, name }) => redactValue(readOwnFile(ctx.home, kind, name)),
})

export const save = endpoint({
  access: CHANGES.commands,
  summary:
    'Create, edit, or rename a command or subagent of the user; everything else in its file stays',
  input: One.extend({
    create: z.boolean().optional(),
    /** Renames the file of a command. */
    new_name: z.string().min(1).max(400).optional(),
    fields: OwnFileFields.optional(),
    text: z.string().optional(),
    /** The whole file, instead of fields and text. */
    content: z.string().optional(),
    expected_version: z.string().optional(),
  }),
  output: Ok.extend({ file: OwnFile }),
  run: (ctx, input) => ({
    ok: true as const,
    file: redactValue(saveOwnFile(ctx.home, input)),
  }),
})

export const remove = endpoint({
  access: CHANGES.commands,
  summary: 'Delete a command or subagent of the user',
  input: One.extend({ expected_version: z.string().optional() }),
  output: Ok.extend({ name: z.string() }),
  run(ctx, { kind, name, expected_version }) {
    removeOwnFile(ctx.home, kind, name, expected_version)
    return { ok: true as const, name }
  },
})
