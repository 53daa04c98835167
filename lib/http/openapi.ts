/** Generates the OpenAPI 3.1 document of the route table. */
import { z } from 'zod'
import { type JsonObject, isObject } from '../base/json.ts'
import { ERROR_CODES } from '../schema/error-code.ts'
import type { RouteTable } from './endpoint.ts'
import type { AnyEndpoint } from './endpoint.ts'

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'A repeated request with the same key gets the reply of the first one, for a day; another request with it is a 422',
}

/** Collects named schemas. A name whose input and output differ gets a second name. */
class Components {
  readonly schemas: JsonObject = {
    Error: {
      type: 'object',
      properties: {
        error: { type: 'string', description: 'One sentence for the person' },
        code: { type: 'string', enum: ERROR_CODES, description: 'Stable; clients may act on it' },
        values: {
          type: 'object',
          additionalProperties: true,
          description: 'Names and limits in the sentence, for clients with texts of their own',
        },
      },
      required: ['error', 'code'],
    },
  }
  readonly #texts = new Map<string, string>()

  convert(schema: z.ZodType, io: 'input' | 'output'): unknown {
    // Wrapped, so that a named schema at the root becomes a $ref as well.
    const whole = z.toJSONSchema(z.object({ it: schema }), {
      io,
      unrepresentable: 'any',
      cycles: 'ref',
    }) as JsonObject
    const defs = (whole.$defs ?? {}) as JsonObject
    const names = new Map<string, string>()
    for (const [name, def] of Object.entries(defs)) {
      const text = JSON.stringify(def)
      const existing = this.#texts.get(name)
      const final =
        existing !== undefined && existing !== text
          ? `${name}${io === 'input' ? 'Input' : 'Output'}`
          : name
      names.set(name, final)
      this.#texts.set(final, text)
    }
    for (const [name, def] of Object.entries(defs)) {
      const { id: _id, $schema: _schema, ...rest } = def as JsonObject
      this.schemas[names.get(name)!] ??= this.#rename(rest, names)
    }
    return this.#rename((whole.properties as JsonObject).it, names)
  }

  #rename(node: unknown, names: ReadonlyMap<string, string>): unknown {
    if (Array.isArray(node)) return node.map(item => this.#rename(item, names))
    if (!isObject(node)) return node
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => {
        const target =
          key === '$ref' && typeof value === 'string'
            ? /^#\/\$defs\/(.+)$/.exec(value)?.[1]
            : undefined
        return [
          key,
          target
            ? `#/components/schemas/${names.get(target) ?? target}`
            : this.#rename(value, names),
        ]
      }),
    )
  }
}

const content = (type: string, schema: unknown) => ({ content: { [type]: { schema } } })

const errorReply = (description: string) => ({
  description,
  ...content('application/json', { $ref: '#/components/schemas/Error' }),
})

const errorsOf = (endpoint: AnyEndpoint, method: string): JsonObject => ({
  ...(endpoint.input || method !== 'GET' ? { 400: errorReply('The input is not valid') } : {}),
  ...(endpoint.page
    ? { 302: { description: 'To /login, when a password is set and the caller is not signed in' } }
    : {}),
  ...(endpoint.public || endpoint.page ? {} : { 401: errorReply('Authentication required') }),
  403: errorReply('Cross-origin request, or host name not allowed'),
  ...(endpoint.loopback ? { 404: errorReply('Not available from other machines') } : {}),
  500: errorReply('Internal server error'),
  default: errorReply(
    'Error: 404 not found, 409 conflict, 429 too many, 503 unavailable, 507 disk full',
  ),
})

export const createOpenApiDocument = (
  routes: RouteTable,
  patternRoutes: RouteTable,
  version: string,
): unknown => {
  const components = new Components()
  const paths: Record<string, JsonObject> = {}
  for (const [key, endpoint] of Object.entries({ ...routes, ...patternRoutes }) as [
    string,
    AnyEndpoint,
  ][]) {
    const [method = '', route = ''] = key.split(' ')
    const path = route.replace(/\/:(\w+)$/, '/{$1}').replace(/\/\*$/, '/{path}')
    const open = /\{(\w+)\}$/.exec(path)?.[1]
    const input = endpoint.input ? components.convert(endpoint.input, 'input') : undefined
    const operation: JsonObject = {
      summary: endpoint.summary,
      operationId: key,
      ...(endpoint.public ? { security: [] } : {}),
      ...(endpoint.byToken ? { security: [{ token: [] }, { key: [] }] } : {}),
      parameters: [
        ...parametersOf(method === 'GET' ? input : undefined, open),
        ...(endpoint.once ? [IDEMPOTENCY_KEY] : []),
      ],
      ...(method === 'POST' && endpoint.multipart
        ? { requestBody: content('multipart/form-data', input ?? { type: 'object' }) }
        : method !== 'GET' && input !== undefined
          ? { requestBody: { required: true, ...content('application/json', input) } }
          : {}),
      responses: {
        200: {
          description: endpoint.summary,
          ...(endpoint.raw
            ? content(endpoint.raw, { type: 'string' })
            : content(
                'application/json',
                endpoint.output ? components.convert(endpoint.output, 'output') : {},
              )),
        },
        ...errorsOf(endpoint, method),
      },
    }
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'agent-webui', version },
    security: [{ session: [] }],
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'agent_session' },
        token: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  }
}

/** The query parameters, and the path parameter, which is always required. */
const parametersOf = (input: unknown, open: string | undefined): JsonObject[] => {
  const { properties = {}, required = [] } = (isObject(input) ? input : {}) as {
    properties?: JsonObject
    required?: string[]
  }
  const parameters: JsonObject[] = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: name === open ? 'path' : 'query',
    required: name === open || required.includes(name),
    schema,
  }))
  if (open && !(open in properties))
    parameters.unshift({ name: open, in: 'path', required: true, schema: { type: 'string' } })
  return parameters
}
