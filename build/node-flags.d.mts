export const NODE_FLAGS: readonly string[]
export const ALLOCATOR: Readonly<Record<string, string>>
