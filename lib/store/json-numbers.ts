/** Preserves the exact numbers of a JSON file shared with another program: 1.0 stays 1.0, and 20 digits stay 20. */

type RawJson = { rawJSON: (text: string) => unknown }

/** A reviver for `JSON.parse`: a number that JavaScript would format differently keeps its source text (JSON.rawJSON). */
export const preserveNumbers = (
  _key: string,
  value: unknown,
  context?: { source?: string },
): unknown => {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return (JSON as unknown as RawJson).rawJSON(source)
}
