#!/usr/bin/env python3
"""Makes the seeds of the inspector again: tests/fuzz/seeds/inspect_gdal, inspect_geojson, inspect_zip.

Good files are written by ogr2ogr and gdal_rasterize (package gdal-bin), hostile ones byte by byte. The
seeds are in the tree, so this runs only when one is added. tests/40-service/test_inspector.c names what
each hostile file must end in."""
import json, os, sqlite3, struct, subprocess, sys, tempfile, zipfile, zlib

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
gdal, own = os.path.join(root, "inspect_gdal"), os.path.join(root, "inspect_geojson")
os.makedirs(gdal, exist_ok=True)
os.makedirs(own, exist_ok=True)
os.makedirs(os.path.join(root, "inspect_zip"), exist_ok=True)
tmp = tempfile.mkdtemp()
when = (2026, 7, 2, 10, 0, 0)


def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    if name.endswith(".zip") and len(data) < 8192:
        put(os.path.join(root, "inspect_zip"), name[:-4], data)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def feature(i, rings, **more):
    props = {"GEOID": "20%03d" % i, "name": "County %d" % i, "pop": 1000 + i, "share": i / 8}
    props.update(more)
    return {"type": "Feature", "properties": props, "geometry": {"type": "Polygon", "coordinates": rings}}


def square(x, y, d=0.5):
    return [[x, y], [x + d, y], [x + d, y + d], [x, y + d], [x, y]]


def collection(features, **more):
    return json.dumps({"type": "FeatureCollection", **more, "features": features})


def archive(entries, method=zipfile.ZIP_DEFLATED):
    path = os.path.join(tmp, "a.zip")
    with zipfile.ZipFile(path, "w", method) as z:
        for name, data, *mode in entries:
            info = zipfile.ZipInfo(name, when)
            info.compress_type = method
            info.create_system = 3
            info.external_attr = (mode[0] if mode else 0o100644) << 16
            z.writestr(info, data)
    return get(path)


# ---- good ones ---------------------------------------------------------------------------------
counties = [
    feature(1, [square(-100, 38)]),
    feature(3, [square(-99.5, 38), square(-99.4, 38.1, 0.1)[::-1]]),
    feature(5, [square(-99, 38)], name="Córdoba"),
]
good = os.path.join(tmp, "counties.geojson")
put(tmp, "counties.geojson", collection(counties))
put(own, "counties", collection(counties))
# The same content in other bytes.
turned = json.loads(collection(counties))
for f in turned["features"]:
    f["properties"] = dict(reversed(list(f["properties"].items())))
    ring = f["geometry"]["coordinates"][0][:-1]
    ring = (ring[2:] + ring[:2])[::-1]
    f["geometry"]["coordinates"][0] = [[x + 2e-9, y - 2e-9] for x, y in ring + ring[:1]]
    f["geometry"] = {"coordinates": [f["geometry"]["coordinates"]], "type": "MultiPolygon"}
    f["properties"]["pop"] = float(f["properties"]["pop"])
turned["features"].reverse()
turned["timestamp"] = "2026-07-02T10:00:00Z"
put(own, "counties_rewritten", json.dumps(turned, indent=1))
put(own, "sequence", "".join("\x1e" + json.dumps(f) + "\n" for f in counties))
put(own, "lines", "".join(json.dumps(f) + "\n" for f in counties))
put(own, "crs84", collection(counties, crs={"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}))


def run(*args):
    subprocess.run(args, check=True, cwd=tmp, stdout=subprocess.DEVNULL)


def ogr(driver, name, *more):
    run("ogr2ogr", "-f", driver, name, good, "-nln", "counties", *more)
    return get(os.path.join(tmp, name))


ogr("ESRI Shapefile", "counties.shp", "-lco", "ENCODING=UTF-8")
parts = {e: get(os.path.join(tmp, "counties." + e)) for e in ("shp", "shx", "dbf", "prj", "cpg")}
shape = [("counties." + e, d) for e, d in parts.items()]
put(gdal, "counties.zip", archive(shape))
put(gdal, "counties.gpkg", ogr("GPKG", "counties.gpkg", "-lco", "SPATIAL_INDEX=NO"))
put(gdal, "counties.kml", ogr("LIBKML", "counties.kml"))
put(gdal, "counties.kmz", archive([("doc.kml", get(os.path.join(tmp, "counties.kml")))]))
put(gdal, "counties.fgb", ogr("FlatGeobuf", "counties.fgb"))
put(gdal, "counties.csv", ogr("CSV", "counties.csv", "-lco", "GEOMETRY=AS_WKT"))
put(gdal, "points.csv", "name,lon,lat\na,-97.5,38\nb,-97,38.5\n")
put(gdal, "topology.json", json.dumps({
    "type": "Topology", "arcs": [square(-100, 38)],
    "objects": {"counties": {"type": "GeometryCollection", "geometries": [
        {"type": "Polygon", "properties": {"GEOID": "20001"}, "arcs": [[0]]}]}}}))
put(gdal, "zipped.geojson.zip", archive([("counties.geojson", get(good))]))
run("ogr2ogr", "-f", "ESRI Shapefile", "utm.shp", good, "-t_srs", "EPSG:26914")
utm = [("utm." + e, get(os.path.join(tmp, "utm." + e))) for e in ("shp", "shx", "dbf", "prj")]
put(gdal, "utm.zip", archive(utm))
put(gdal, "utm.geojson", get(good).decode().replace('"features"', '"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::26914"}},"features"', 1)
    .replace("-100,", "400000,"))
run("gdal_rasterize", "-q", "-burn", "7", "-tr", "0.05", "0.05", "-ot", "Byte", "-a_nodata", "0", good, "plain.tif")
run("gdal_translate", "-q", "-co", "COMPRESS=LZW", "-co", "TILED=YES", "-co", "BLOCKXSIZE=16", "-co", "BLOCKYSIZE=16", "plain.tif", "tiled.tif")
put(gdal, "plain.tif", get(os.path.join(tmp, "plain.tif")))
put(gdal, "tiled.tif", get(os.path.join(tmp, "tiled.tif")))

# ---- hostile archives --------------------------------------------------------------------------
put(gdal, "bomb.zip", archive([("a.shp", b"\0" * (48 << 20)), ("a.dbf", b"")]))
put(gdal, "traversal.zip", archive(shape + [("../../etc/passwd", b"x")]))
put(gdal, "absolute.zip", archive(shape + [("/etc/passwd", b"x")]))
put(gdal, "backslash.zip", archive(shape + [("..\\x", b"x")]))
put(gdal, "symlink.zip", archive([("counties.shp", b"/etc/passwd", 0o120777)] + shape[1:]))
put(gdal, "no_shp.zip", archive([("readme.txt", b"hello")]))
put(gdal, "empty.zip", b"PK\x05\x06" + b"\0" * 18)
put(gdal, "no_prj.zip", archive([e for e in shape if not e[0].endswith("prj")]))
put(gdal, "no_shx.zip", archive([e for e in shape if not e[0].endswith("shx")]))
put(gdal, "cut.zip", archive(shape)[:-40])
twice = archive(shape[:1] + [("counties.shX", b"x" * len(parts["shp"]))])
put(gdal, "twins.zip", twice.replace(b"counties.shX", b"counties.shp"))


def claims(data, size):
    """The claimed inflated size of every entry, in the central directory, becomes `size`."""
    out, at = bytearray(data), data.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<I", out, at + 24, size)
        at = data.find(b"PK\x01\x02", at + 4)
    return bytes(out)


put(gdal, "claims_4gb.zip", claims(archive(shape), 0xFFFFFFFE))
put(gdal, "claims_zip64.zip", claims(archive(shape), 0xFFFFFFFF))
# Inflates to 48 MB but says 4 kB: what is read must stop at what was said.
put(gdal, "lies_small.zip", claims(archive([("a.json", b'{"type":"Point","coordinates":[1,' + b" " * (48 << 20) + b"2]}")]), 4096))

# ---- hostile data ------------------------------------------------------------------------------
laughs = '<?xml version="1.0"?><!DOCTYPE kml [<!ENTITY a "haha">'
for i in range(1, 12):
    laughs += '<!ENTITY %s "%s">' % (chr(97 + i), ("&%s;" % chr(96 + i)) * 10)
put(gdal, "laughs.kml", laughs + "]><kml><Document><Placemark><name>&l;</name><Point><coordinates>1,2</coordinates></Point></Placemark></Document></kml>")
put(gdal, "external.kml", '<?xml version="1.0"?><!DOCTYPE kml [<!ENTITY x SYSTEM "file:///etc/passwd">]><kml><Document>'
    '<NetworkLink><Link><href>http://127.0.0.1:9/x.kml</href></Link></NetworkLink>'
    '<Placemark><name>&x;</name><Point><coordinates>1,2</coordinates></Point></Placemark></Document></kml>')
put(gdal, "deep.kml", "<kml>" + "<Folder>" * 5000 + "</Folder>" * 5000 + "</kml>")
put(gdal, "cut.kml", get(os.path.join(tmp, "counties.kml"))[:-200])
put(gdal, "not_finite.csv", 'wkt,a\n"POINT (nan inf)",1\n"POINT (1e300 2)",2\n')
put(gdal, "bowtie.csv", 'wkt,a\n"POLYGON((0 0,1 1,1 0,0 1,0 0))",1\n')
put(gdal, "broken_wkt.csv", 'wkt,a\n"POLYGON((0 0,1 1",1\n"POINT(1 2)",2\n')
shp = bytearray(parts["shp"])
struct.pack_into(">I", shp, 24, 0x7FFFFFFF)
struct.pack_into(">I", shp, 104, 0x7FFFFFF0)
put(gdal, "claims_shp.zip", archive([("counties.shp", bytes(shp))] + shape[1:]))
dbf = bytearray(parts["dbf"])
struct.pack_into("<I", dbf, 4, 0x7FFFFFFF)
put(gdal, "claims_dbf.zip", archive(shape[:2] + [("counties.dbf", bytes(dbf))] + shape[3:]))
shx = bytearray(parts["shx"])
struct.pack_into(">I", shx, 24, 0x7FFFFFFF)
put(gdal, "claims_shx.zip", archive([shape[0], ("counties.shx", bytes(shx))] + shape[2:]))
fgb = bytearray(get(os.path.join(tmp, "counties.fgb")))
struct.pack_into("<I", fgb, 8, 0xFFFFFFF0)
put(gdal, "claims.fgb", bytes(fgb))
put(gdal, "cut.fgb", bytes(get(os.path.join(tmp, "counties.fgb"))[:-100]))
put(gdal, "cut.tif", get(os.path.join(tmp, "tiled.tif"))[:-150])


def tiff(width, height, strips=0):
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, 0xFFFFFFF0)]
    out = struct.pack("<2sHIH", b"II", 42, 8, len(tags))
    return out + b"".join(struct.pack("<HHII", *t) for t in tags) + b"\0\0\0\0"


put(gdal, "claims.tif", tiff(0x7FFFFFFF, 0x7FFFFFFF))
put(gdal, "claims_4gb.tif", tiff(65536, 65536))
gpkg = get(os.path.join(tmp, "counties.gpkg"))
put(gdal, "cut.gpkg", gpkg[:-3000])
scrambled = bytearray(gpkg)
for i in range(4096, len(scrambled), 97):
    scrambled[i] ^= 0x55
put(gdal, "scrambled.gpkg", bytes(scrambled))
pages = bytearray(gpkg)
struct.pack_into(">I", pages, 28, 0xFFFFFFF0)
put(gdal, "claims.gpkg", bytes(pages))
wal = bytearray(gpkg)
wal[18] = wal[19] = 2
put(gdal, "wal.gpkg", bytes(wal))


def evil_gpkg(name, *statements):
    path = os.path.join(tmp, name)
    put(tmp, name, gpkg)
    db = sqlite3.connect(path)
    db.create_function("ST_IsEmpty", 1, lambda x: 0)
    for s in statements:
        db.execute(s)
    db.commit()
    db.execute("VACUUM")
    db.close()
    put(gdal, name, get(path))


listed = ("INSERT INTO gpkg_contents(table_name,data_type,identifier,srs_id) VALUES ('evil','attributes','evil',4326)",)
virtual = ("PRAGMA writable_schema=ON",
           "INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql) VALUES ('table','evil','evil',0,"
           "'CREATE VIRTUAL TABLE evil USING VirtualText(\"/etc/passwd\",UTF-8,0,POINT,NONE,COLON)')")
evil_gpkg("virtual.gpkg", *listed, *virtual)
evil_gpkg("endless.gpkg", *listed,
          "CREATE VIEW evil AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x AS fid, x FROM c")
evil_gpkg("extension.gpkg", *listed, "CREATE VIEW evil AS SELECT 1 AS fid, load_extension('/tmp/x.so') AS x")
evil_gpkg("trigger.gpkg", "CREATE TRIGGER t AFTER INSERT ON counties BEGIN SELECT load_extension('/tmp/x.so'); END")

# ---- hostile GeoJSON ---------------------------------------------------------------------------
point = '{"type":"Point","coordinates":%s}'
put(own, "deep", point % ("[" * 20000 + "]" * 20000))
put(own, "deep_collections", '{"type":"GeometryCollection","geometries":[' * 40 + "]}" * 40)
put(own, "unclosed", '{"type":"FeatureCollection","features":[' + "[" * 20000)
put(own, "nan", point % "[NaN,1]")
put(own, "infinite", point % "[1e999,1]")
put(own, "huge", point % "[1e300,1]")
put(own, "not_numbers", point % '["a",null]')
put(own, "bowtie", collection([feature(1, [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]])]))
put(own, "open_ring", collection([feature(1, [[[0, 0], [1, 0], [1, 1], [0, 1]]])]))
put(own, "two_points", collection([feature(1, [[[0, 0], [1, 0], [0, 0]]])]))
put(own, "zigzag", collection([feature(1, [[[i % 2, 0] for i in range(3001)] + [[0, 0]]])]))
put(own, "empties", collection([feature(1, []), {"type": "Feature", "properties": None, "geometry": None},
                                {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection", "geometries": []}}]))
put(own, "metres", collection([feature(1, [[[5e5, 4e6], [5e5 + 1, 4e6], [5e5, 4e6 + 1], [5e5, 4e6]]])]))
put(own, "same_key", collection([feature(1, [square(0, 0)]), feature(1, [square(1, 0)])]))
put(own, "no_key", collection([feature(1, [square(0, 0)], GEOID=None)]))
put(own, "features_twice", '{"type":"FeatureCollection","features":[],"features":[]}')
put(own, "features_no_list", '{"type":"FeatureCollection","features":{}}')
put(own, "feature_no_object", '{"type":"FeatureCollection","features":[1]}')
put(own, "bytes_behind", collection(counties) + "x")
put(own, "comma_missing", '{"type":"FeatureCollection","features":[{"type":"Feature"}{"type":"Feature"}]}')
put(own, "cut", collection(counties)[:-30])
put(own, "not_utf8", collection(counties).encode().replace(b"County 1", b"County \xff"))
put(own, "many_columns", collection([feature(1, [square(0, 0)], **{"c%d" % i: i for i in range(5000)})]))
put(own, "big_integers", collection([feature(1, [square(0, 0)], id=9007199254740993)]))
put(own, "nested_twice", '{"type":"Feature","properties":{"a":{"b":1,"b":2}},"geometry":null}')
put(own, "escapes", '{"ty\\u0070e":"Feature","properties":{},"geometry":null}')
put(own, "random", b'{"Point"' + zlib.crc32(b"x").to_bytes(4, "big") + bytes((i * 7919 >> 3) & 255 for i in range(4000)))
sys.exit(0)
