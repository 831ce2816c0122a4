// A gateway made of Helia, which speaks to nobody else: files in, blocks out.
//
//   node gateway.mjs FILE CHUNK_OCTETS
//
// adds the file in chunks of at most so many octets and prints {"port", "cid"}; then it answers GET /ipfs/CID on
// the loopback until it is ended.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { unixfs } from '@helia/unixfs'
import { createVerifiedFetch } from '@helia/verified-fetch'
import { createHeliaLight } from 'helia'
import { fixedSize } from 'ipfs-unixfs-importer/chunker'

const [file, chunkSize] = process.argv.slice(2)
const helia = await createHeliaLight()
const options = { cidVersion: 1, rawLeaves: true, reduceSingleLeafToSelf: true, chunker: fixedSize({ chunkSize: Number(chunkSize) }) }
const cid = await unixfs(helia).addBytes(readFileSync(file), options)
const verifiedFetch = await createVerifiedFetch(helia)

const server = createServer(async (request, response) => {
  try {
    const { pathname } = new URL(request.url, 'http://gateway')
    const headers = { accept: request.headers.accept ?? '*/*' }
    const answer = await verifiedFetch(`ipfs://${pathname.replace('/ipfs/', '')}`, { headers, session: false, offline: true })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    if (answer.body === null) response.end()
    else Readable.fromWeb(answer.body).pipe(response)
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' })
    response.end(String(error))
  }
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port, cid: cid.toString() })))
