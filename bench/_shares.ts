/** Where the processor time of services went, from the profiles that V8 wrote when they ended. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Frame = { functionName: string; url: string }
type Profile = {
  nodes: { id: number; callFrame: Frame; children?: number[] }[]
  samples: number[]
  timeDeltas: number[]
}

/** By name of a function; the innermost call decides. Node's own functions are named where ours call them. */
const CAUSES: readonly (readonly [cause: string, functions: RegExp])[] = [
  ['waiting', /^\(idle\)$/],
  ['garbage collection', /^\(garbage collector\)$/],
  ['loading code', /^(?:Script|compileForInternalLoader|processChunkSync|codeOf|functionOf)$/],
  ['sending bytes (kernel)', /^(?:writev|writeBuffer|write(?:Utf8|Latin1)String)$/],
  ['encoding requests to the model', /^(?:encodeJson|toProviderRequest|toBody|adapted)$/],
  ['requests to the model (undici)', /^(?:postJson|streamRequest|readMore)$/],
  ['rows of the catalog', /^(?:put|head|nextMessageId|page|pinnedBelow)$/],
  ['journal and live log', /^(?:append|recordMessage)$/],
  ['guard of paths', /^(?:guardRead|resolvePath|displayPath)$/],
  ['reading files for the model', /^(?:readLarge|readLargePage|readText|fstat|openFileHandle)$/],
  ['mask of secrets', /^(?:maskLeaving|maskLeavingBytes|redact|redactValue)$/],
  ['configuration', /^(?:settings|values|env)$/],
  ['head and end of responses (Node)', /^(?:writeHead|end|resOnFinish)$/],
  ['routing, access, handlers', /^listen$/],
  ['reading requests (Node)', /^parserOnHeadersComplete$/],
]

/** One line per cause, with its share of what was not waiting. */
export const sharesOf = (dir: string): string[] => {
  const sums = new Map<string, number>()
  for (const name of readdirSync(dir)) {
    const profile = JSON.parse(readFileSync(join(dir, name), 'utf8')) as Profile
    const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame.functionName]))
    const parents = new Map(
      profile.nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id] as const)),
    )
    const causeOf = (id: number | undefined): string =>
      id === undefined
        ? 'other'
        : (CAUSES.find(([, functions]) => functions.test(names.get(id) ?? ''))?.[0] ??
          causeOf(parents.get(id)))
    for (const [at, id] of profile.samples.entries()) {
      const cause = causeOf(id)
      sums.set(cause, (sums.get(cause) ?? 0) + (profile.timeDeltas[at] ?? 0))
    }
  }
  sums.delete('waiting')
  const whole = [...sums.values()].reduce((all, time) => all + time, 0)
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, time]) => `${((time / whole) * 100).toFixed(1).padStart(5)} % ${cause}`)
}
