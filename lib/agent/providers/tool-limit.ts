/** Endpoints that take fewer tools than are on offer, or none: what is left out, and that the person is told. */
import type { ProviderDelta, ProviderRequest } from '../types.ts'

/** How many tools a server takes at most; null when it complains of something else. */
export const toolLimit = (message: string): number | null => {
  const found =
    /(?:\btools\b|functions?\b|function declarations).{0,80}?(?:max(?:imum)?|at most|limit|up to)\D{0,30}(\d{1,4})|(?:max(?:imum)?|at most|limit|up to)\D{0,20}(\d{1,4})\s*(?:tools|functions)|(?:max(?:imum)?|limit)[^0-9]{0,30}(?:tools|functions)\D{0,20}(\d{1,4})/i.exec(
      message,
    )
  const most = Number(found?.[1] ?? found?.[2] ?? found?.[3] ?? 0)
  return most >= 1 ? most : null
}

/** The number behind a quirk's name, the smallest where there are several. */
export const smallestLimit = (quirks: ReadonlySet<string>, name: 'tools ' | 'at most '): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...[...quirks].flatMap(one => (one.startsWith(name) ? [Number(one.slice(name.length))] : [])),
  )

export const offeredTools = (
  { tools }: ProviderRequest,
  quirks: ReadonlySet<string>,
): ProviderRequest['tools'] =>
  quirks.has('no tools') ? [] : tools.slice(0, smallestLimit(quirks, 'tools '))

/** Null where nothing is left out. */
const missing = (request: ProviderRequest, quirks: ReadonlySet<string>): string | null => {
  const left = request.tools.length - offeredTools(request, quirks).length
  if (left === 0) return null
  const { model } = request.endpoint
  return quirks.has('no tools')
    ? `${model} does not support tools, so it can only answer in words. Choose another model for work on files and commands.`
    : `${model} takes at most ${smallestLimit(quirks, 'tools ')} tools, so ${left} are left out. Turn off tools you don’t need in Settings, Tools.`
}

/** Said with the first word: before it, the server may still object. */
export async function* withToolLimitNotice(
  request: ProviderRequest,
  quirks: ReadonlySet<string>,
  deltas: AsyncGenerator<ProviderDelta>,
): AsyncGenerator<ProviderDelta> {
  const text = missing(request, quirks)
  let isSaid = false
  for await (const delta of deltas) {
    if (!isSaid && text !== null) yield { type: 'notice', text }
    isSaid = true
    yield delta
  }
}
