// A publisher, and a reader of what others publish, made of Node's own cryptography and the npm package canonicalize.
//
//   node publisher.mjs verify DID_DOCUMENT DOCUMENT         a JSON array, true for each proof that is good
//   node publisher.mjs sign KEY METHOD CONTAINER DOCUMENT   the document with a proof; CONTAINER proof or signatures
//   node publisher.mjs keygen CURVE                         {"pem", "multikey"}; CURVE Ed25519, P-256 or P-384
import { ECDH, createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

// The package lies where the test has installed it, not beside this file.
const canonicalize = createRequire(pathToFileURL(`${process.cwd()}/`))('canonicalize')

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const CREATED = '2026-11-30T12:00:00Z'
const KINDS = {
  'Ed25519': { prefix: 'ed01', suite: 'eddsa-jcs-2022', hash: 'sha256', signed: null, alg: 'EdDSA' },
  'P-256': { prefix: '8024', suite: 'ecdsa-jcs-2019', hash: 'sha256', signed: 'sha256', alg: 'ES256', curve: 'prime256v1' },
  'P-384': { prefix: '8124', suite: 'ecdsa-jcs-2019', hash: 'sha384', signed: 'sha384', alg: 'ES384', curve: 'secp384r1' }
}

function fromBase58 (text) {
  let number = 0n
  for (const character of text) number = number * 58n + BigInt(ALPHABET.indexOf(character))
  const hex = number.toString(16)
  const zeros = text.match(/^1*/)[0].length
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')])
}

function toBase58 (octets) {
  let number = BigInt(`0x${octets.toString('hex')}`)
  let text = ''
  for (; number; number /= 58n) text = ALPHABET[number % 58n] + text
  const zeros = octets.findIndex(octet => octet !== 0)
  return ALPHABET[0].repeat(zeros < 0 ? octets.length : zeros) + text
}

const json = path => JSON.parse(readFileSync(path, 'utf8'))
const digest = (hash, value) => createHash(hash).update(canonicalize(value)).digest()
const without = (value, ...names) => Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

function keyOf (didDocument, id) {
  const method = didDocument.verificationMethod.find(one => one.id === id)
  if (!didDocument.assertionMethod.includes(id)) throw new Error('not for assertions')
  const octets = fromBase58(method.publicKeyMultibase.slice(1))
  const [crv, kind] = Object.entries(KINDS).find(([, kind]) => octets.toString('hex', 0, 2) === kind.prefix)
  const jwk = crv === 'Ed25519'
    ? { kty: 'OKP', crv, x: octets.toString('base64url', 2) }
    : { kty: 'EC', crv, ...coordinates(octets.subarray(2), kind.curve) }
  return { kind, key: createPublicKey({ key: jwk, format: 'jwk' }) }
}

function coordinates (point, curve) {
  const whole = ECDH.convertKey(point, curve, undefined, undefined, 'uncompressed')
  const length = (whole.length - 1) / 2
  return { x: whole.toString('base64url', 1, 1 + length), y: whole.toString('base64url', 1 + length) }
}

function toMultikey (publicKey) {
  const { crv, x, y } = publicKey.export({ format: 'jwk' })
  const octets = Buffer.from(x, 'base64url')
  const sign = crv === 'Ed25519' ? [] : [Buffer.from([2 + (Buffer.from(y, 'base64url').at(-1) & 1)])]
  return 'z' + toBase58(Buffer.concat([Buffer.from(KINDS[crv].prefix, 'hex'), ...sign, octets]))
}

const integrityMessage = (kind, options, document) =>
  Buffer.concat([digest(kind.hash, options), digest(kind.hash, without(document, 'proof'))])

const jwsMessage = (header, document) =>
  Buffer.from(`${header}.${Buffer.from(canonicalize(without(document, 'proof', 'signatures'))).toString('base64url')}`)

function verifyAll (didDocument, document) {
  const checked = (id, message, signature) => {
    const { kind, key } = keyOf(didDocument, id)
    return verify(kind.signed, message(kind), { key, dsaEncoding: 'ieee-p1363' }, signature)
  }
  const proofs = [document.proof ?? []].flat().map(proof => checked(
    proof.verificationMethod,
    kind => integrityMessage(kind, without(proof, 'proofValue'), document),
    fromBase58(proof.proofValue.slice(1))
  ))
  const signatures = (document.signatures ?? []).map(entry => checked(
    JSON.parse(Buffer.from(entry.protected, 'base64url')).kid,
    () => jwsMessage(entry.protected, document),
    Buffer.from(entry.signature, 'base64url')
  ))
  return [...proofs, ...signatures]
}

function signOne (pem, method, container, document) {
  const key = createPrivateKey(pem)
  const kind = KINDS[key.export({ format: 'jwk' }).crv]
  const made = message => sign(kind.signed, message, { key, dsaEncoding: 'ieee-p1363' })
  if (container === 'signatures') {
    const header = { alg: kind.alg, kid: method, typ: 'JOSE', iat: Date.parse(CREATED) / 1000 }
    const written = Buffer.from(JSON.stringify(header)).toString('base64url')
    const signature = made(jwsMessage(written, document)).toString('base64url')
    return { ...document, signatures: [{ protected: written, signature }] }
  }
  const options = {
    type: 'DataIntegrityProof',
    cryptosuite: kind.suite,
    created: CREATED,
    verificationMethod: method,
    proofPurpose: 'assertionMethod'
  }
  const proofValue = 'z' + toBase58(made(integrityMessage(kind, options, document)))
  return { ...document, proof: { ...options, proofValue } }
}

function generate (crv) {
  const { publicKey, privateKey } = crv === 'Ed25519'
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: crv })
  return { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }), multikey: toMultikey(publicKey) }
}

const COMMANDS = {
  verify: (didDocument, document) => verifyAll(json(didDocument), json(document)),
  sign: (key, method, container, document) => signOne(readFileSync(key), method, container, json(document)),
  keygen: generate
}

const [command, ...rest] = process.argv.slice(2)
console.log(JSON.stringify(COMMANDS[command](...rest)))
