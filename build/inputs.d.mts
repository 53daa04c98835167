/** Types of inputs.mjs. */
export function inputsLine(hash: string): string
export function hashInputs(root: string): string
export function isCurrent(root: string, file: string): boolean
