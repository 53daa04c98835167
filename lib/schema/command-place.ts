/** Where the commands of the agent run, as the page shows it. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

/**
 * Where a command runs, in a home that asks for a sandbox or a container: `outside` is directly on this computer. Where a home
 * asks for neither, commands have no such mark.
 */
export const RunsIn = z.enum([
  'sandbox',
  'sandbox_network',
  'container',
  'container_network',
  'outside',
])
export type RunsIn = z.output<typeof RunsIn>

/** `auto`: wherever it works. */
const SandboxSwitch = z.union([z.boolean(), z.literal('auto')])

/** `changes`: every command that can change something; `dangerous`: only what the host agent knows as dangerous. */
const OutsidePolicy = z.enum(['changes', 'dangerous'])

export const CommandPlace = z.object({
  profile: z.string(),
  /** The file with these settings. */
  source: z.string(),
  /** `computer`: directly, with the rights of the service. */
  place: z.enum(['computer', 'sandbox', 'container']),
  /** Why no command can run there at the moment, and what to do; null: they run. */
  problem: z.string().nullable(),
  sentences: Sentences.optional(),
  sandbox: z.object({
    enabled: SandboxSwitch,
    /** For every command, for none, or for those that match a pattern. Others ask. */
    network: z.union([z.boolean(), z.array(z.string())]),
    /** Why the sandbox does not work on this computer, and what to do, whether it is on or not. */
    problem: z.string().nullable(),
    sentences: Sentences.optional(),
  }),
  /** What is asked about where commands run directly on this computer: `approvals.outside_sandbox`. */
  outside: OutsidePolicy,
  /** Of `terminal.backend`; null: it asks for none. */
  container: z
    .object({
      engine: z.string(),
      /** Null when the settings are not understood. */
      image: z.string().nullable(),
      /** False: the first command downloads the image. */
      is_downloaded: z.boolean(),
      has_network: z.boolean(),
    })
    .nullable(),
})
export type CommandPlace = z.output<typeof CommandPlace>

export const CommandsHere = CommandPlace.pick({ place: true, outside: true }).extend({
  /** Why they do not run in a sandbox although one is wanted wherever it works, and what to do. */
  problem: z.string().nullable(),
  sentences: Sentences.optional(),
})
export type CommandsHere = z.output<typeof CommandsHere>

export const SandboxChange = z.object({
  enabled: SandboxSwitch.optional(),
  network: z.boolean().optional(),
  outside: OutsidePolicy.optional(),
})
export type SandboxChange = z.output<typeof SandboxChange>
