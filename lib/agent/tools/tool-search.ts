/** Tools: find tools that are not described to the model, and call them. See `deferred-calls.ts`. */
import { z } from 'zod'
import { CALL_TOOL, TOOL_SEARCH } from '../deferred-calls.ts'
import { rankTools } from '../rank-tools.ts'
import { describeTool } from '../tool-schema.ts'
import type { Tool } from '../types.ts'

const SearchInput = z.object({
  query: z.string().trim().min(1).max(500).describe('Words about what the tool does, or its name.'),
  max_results: z.int().min(1).max(20).default(5),
})

const toolName = z.string().describe('The name of a tool that tool_search returned.')
/** Loose: what is called is not known here, so what is wrong with its arguments is not either. */
const CallInput = z.looseObject({
  name: toolName,
  arguments: z.looseObject({}).optional().describe('Its arguments, as its parameters describe.'),
})
const TextCallInput = z.looseObject({
  name: toolName,
  arguments: z
    .string()
    .optional()
    .describe('Its arguments, a JSON object as its parameters describe.'),
})

/** Characters of one result; 20 large schemas would fill a window. */
const MAX_CHARS = 40_000

/** The tools that can be found, and sentences about servers whose tools cannot be found now. */
type Findable = { tools: readonly Tool[]; unavailable: readonly string[] }

/** `catalog` describes them to the model; it must not change within a session. */
export const toolSearch = (
  { tools, unavailable }: Findable,
  catalog: string,
): Tool<typeof SearchInput> => ({
  name: TOOL_SEARCH,
  summary: `Find tools that are not in your list of tools. Returns the parameters of the best matches, which you then run with ${CALL_TOOL}. ${catalog}`,
  input: SearchInput,
  kind: 'read',
  preview: ({ query }) => query,
  run(_ctx, { query, max_results: limit }) {
    const ranked = rankTools(query, tools)
    const matches: unknown[] = []
    let chars = 0
    for (const tool of ranked.slice(0, limit)) {
      const description = describeTool(tool)
      chars += JSON.stringify(description).length
      if (matches.length > 0 && chars > MAX_CHARS) break
      matches.push(description)
    }
    const more = ranked.slice(matches.length, matches.length + 20).map(({ name }) => name)
    return {
      preview: `${query} · ${matches.length} found`,
      content: JSON.stringify({
        tools: matches,
        ...(more.length > 0 && { also_matching: more }),
        ...(matches.length === 0 && { hint: 'No tool matches. Try other words.' }),
        ...(unavailable.length > 0 && { unavailable }),
      }),
    }
  },
})

/**
 * The loop runs the named tool instead of this one, so this one runs only for a name that does not exist. `isText`: the
 * arguments are text, for models that leave an object without declared properties empty.
 */
export const callTool = (
  { tools, unavailable }: Findable,
  isText: boolean,
): Tool<typeof CallInput | typeof TextCallInput> => ({
  name: CALL_TOOL,
  summary: `Run a tool that ${TOOL_SEARCH} returned.`,
  input: isText ? TextCallInput : CallInput,
  kind: 'execute',
  preview: ({ name }) => name,
  run(_ctx, { name }) {
    const similar = rankTools(name, tools).slice(0, 5)
    const names = similar.map(tool => tool.name).join(', ')
    const hint = names === '' ? `Look for it with ${TOOL_SEARCH}.` : `Similar: ${names}.`
    throw new Error([`There is no tool "${name}". ${hint}`, ...unavailable].join(' '))
  },
})
