#!/bin/sh
# The inspector alone, on files as GDAL's own tools write them. What no reader reads counts as content by its
# bytes: a change of it is never taken for another way of writing the same. And what a comparison tells.
# shellcheck disable=SC2154 # work is set by lib.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/50-e2e/lib.sh

report() { # FILE FILTER
    "$B/freshet-inspect" "$work/$1" | jq -c "$2"
}
same() { # WHAT FILE FILE
    is "$1: the same content" "$(report "$3" .content_digest)" "$(report "$2" .content_digest)"
}
differs() { # WHAT FILE FILE
    one=$(report "$2" .content_digest) other=$(report "$3" .content_digest)
    is "$1: a digest each" "$(printf '%s\n%s\n' "$one" "$other" | grep -c '^"[0-9a-f]\{64\}"$')" 2
    is "$1: other content" "$([ "$one" != "$other" ] && echo yes)" yes
}
square() { # NAME SIDE
    printf '{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":"%s"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[%s,0],[%s,1],[0,0]]]}}]}' \
        "$1" "$2" "$2" >"$work/$1.geojson"
}
pack() { # ARCHIVE FILE...
    archive=$1
    shift
    (cd "$work" && rm -f "$archive" && zip -q "$archive" "$@")
}
square one 1
square two 2
cp "$work/one.geojson" "$work/v.geojson"

# ---- archives ----
ogr2ogr -f LIBKML "$work/one.kmz" "$work/one.geojson" -nln places
ogr2ogr -f LIBKML "$work/two.kmz" "$work/two.geojson" -nln places
is "a KMZ in several files has its features" "$(report one.kmz .totals.features)" 1
differs "a KMZ in several files" one.kmz two.kmz
ogr2ogr -f "ESRI Shapefile" "$work/s.shp" "$work/one.geojson"
printf 'k,v\n1,2\n' >"$work/table.csv"
pack plain.zip s.shp s.shx s.dbf s.prj
pack packed.zip -0 s.prj s.dbf s.shx s.shp
same "another order, another compression" plain.zip packed.zip
is "all of it is read" "$(report plain.zip .unread_digest)" null
printf '<metadata/>' >"$work/s.shp.xml"
pack described.zip s.shp s.shx s.dbf s.prj s.shp.xml
same "a description" plain.zip described.zip
pack table.zip s.shp s.shx s.dbf s.prj table.csv
printf 'k,v\n1,3\n' >"$work/table.csv"
pack table2.zip s.shp s.shx s.dbf s.prj table.csv
differs "a table beside a shapefile" plain.zip table.zip
differs "another table" table.zip table2.zip
pack geo.zip one.geojson v.geojson
cp "$work/two.geojson" "$work/v.geojson"
pack geo2.zip one.geojson v.geojson
differs "a second GeoJSON" geo.zip geo2.zip

# ---- links, tiles, pages ----
link() { # NAME HREF
    printf '<kml xmlns="http://www.opengis.net/kml/2.2"><Document><NetworkLink><Link><href>%s</href></Link></NetworkLink></Document></kml>' \
        "$2" >"$work/$1.kml"
}
link here a.kml
link there b.kml
differs "places that are elsewhere" here.kml there.kml
pixels() { # NAME VALUE
    printf 'ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n%s 2\n3 4\n' "$2" >"$work/$1.asc"
    gdal_translate -q -ot Byte -a_srs EPSG:4326 "$work/$1.asc" "$work/$1.tif"
}
pixels p 1
pixels q 9
for v in p q; do
    ogr2ogr -f GPKG "$work/$v.gpkg" "$work/one.geojson" -nln places
    gdal_translate -q -of GPKG -co APPEND_SUBDATASET=YES -co RASTER_TABLE=tiles "$work/$v.tif" "$work/$v.gpkg"
    cp "$work/p.tif" "$work/pages-$v.tif"
    gdal_translate -q -co APPEND_SUBDATASET=YES "$work/$v.tif" "$work/pages-$v.tif"
done
differs "tiles beside features" p.gpkg q.gpkg
differs "a second page" pages-p.tif pages-q.tif

# ---- what numbers of a picture mean ----
gdal_translate -q -a_scale 2 -a_offset 10 "$work/p.tif" "$work/scaled.tif"
differs "scale and offset" p.tif scaled.tif
is "are told" "$(report scaled.tif '.raster.bands[0]|[.scale,.offset]')" '[2,10]'
vrt() { # NAME RED
    printf '<VRTDataset rasterXSize="2" rasterYSize="2"><SRS>EPSG:4326</SRS><GeoTransform>0,1,0,2,0,-1</GeoTransform><VRTRasterBand dataType="Byte" band="1"><ColorInterp>Palette</ColorInterp><ColorTable><Entry c1="0" c2="0" c3="0" c4="255"/><Entry c1="%s" c2="0" c3="0" c4="255"/></ColorTable><SimpleSource><SourceFilename>%s/p.tif</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>' \
        "$2" "$work" >"$work/$1.vrt"
    gdal_translate -q "$work/$1.vrt" "$work/$1.tif"
}
vrt red 200
vrt dark 100
differs "a palette" red.tif dark.tif

# ---- comparisons ----
border() { # NAME SINCE RING
    printf '{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"G":"1","since":%s},"geometry":{"type":"Polygon","coordinates":[[%s]]}}]}' \
        "$2" "$3" >"$work/$1.geojson"
}
compared() { # FILTER
    "$B/freshet-inspect" --feature-key G --legal-date since --compare "$work/old.geojson" "$work/new.geojson" | jq -c "$1"
}
border old '"2026-07-01"' '[0,0],[2,0],[2,1],[0,0]'
border new '"2026-07-01"' '[0,0],[1,0],[2,0],[2,1],[0,0]'
is "a point on a border moves nothing" "$(compared '.totals|[.moved_m,.gained_patches,.lost_patches,.all_polygons]')" '[0,0,0,true]'
while read -r since date; do
    border new "$since" '[0,0],[2,0],[2,2],[0,0]'
    is "a legal date of $since" "$(compared '.modified[0].legal_date')" "$date"
done <<'END'
"2026-07-01" "2026-07-01"
"2026-07-01T10:00:00Z" "2026-07-01"
"2026/07/01" "2026-07-01"
20260701 "2026-07-01"
"2026-02-30" null
"2026-19-39" null
"2026-07/01" null
1710123100000 null
END
summary
